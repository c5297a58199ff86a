import { z } from "zod";
import { EXIT } from "../../platform/errors.js";
import { COMPLETE, type Command } from "../command.js";
import { oneOf, readFlags } from "../read-flags.js";

const SCRIPTS = {
  bash: `# art-e completion bash >> ~/.bashrc
_art_e() {
  local IFS=$'\\n'
  COMPREPLY=($(art-e ${COMPLETE} "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o bashdefault -o default -F _art_e art-e`,
  zsh: `# art-e completion zsh >> ~/.zshrc
_art_e() {
  local -a found
  found=("\${(@f)$(art-e ${COMPLETE} "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- $found; else _files; fi
}
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
compdef _art_e art-e`,
  fish: `# art-e completion fish > ~/.config/fish/completions/art-e.fish
complete -c art-e -a '(art-e ${COMPLETE} (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null)'`,
} as const;

const schema = z.object({ shell: oneOf(["bash", "zsh", "fish"]).default("bash") });

export const completionCommand: Command = {
  positionals: { shell: { type: "string", describe: "bash, zsh or fish", defaultDescription: "bash" } },
  flags: {},
  async run(argv, { out }) {
    const { shell } = readFlags("completion", schema, argv);
    out.result({ shell, script: SCRIPTS[shell] }, () => SCRIPTS[shell]);
    return EXIT.done;
  },
};
