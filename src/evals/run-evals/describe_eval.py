# Describes an eval's code without running it, inside the sandbox. Reads eval.py, and prints one JSON object.
import ast
import json


class Unusable(Exception):
    pass


def describe(code):
    module = ast.parse(code, "eval.py")
    functions = [one for one in module.body if isinstance(one, ast.FunctionDef) and one.name == "eval_function"]
    if not functions or not takes_four(functions[-1].args):
        raise Unusable("eval_function with four parameters is missing")
    reference = declared_reference(module)
    metadata = [*functions[-1].args.posonlyargs, *functions[-1].args.args][1:2]
    if reference is None and any(uses(functions[-1], one.arg) for one in metadata):
        raise Unusable(
            f"it uses {metadata[0].arg}, which is empty without REFERENCE = True at the top level of the file")
    docstring = ast.get_docstring(functions[-1]) or ""
    lines = [line.strip() for line in docstring.split("\n") if line.strip() != ""]
    return {"criterion": lines[0][:1000] if lines else None, "reference": reference is True}


def takes_four(args):
    positional = [*args.posonlyargs, *args.args]
    required = len(positional) - len(args.defaults)
    most = 4 if args.vararg else len(positional)
    return required <= 4 <= most and None not in args.kw_defaults


def declared_reference(module):
    """Returns the value of the constant REFERENCE, or None if it is missing."""
    declared = None
    for one in module.body:
        targets = one.targets if isinstance(one, ast.Assign) else [one.target] if isinstance(one, ast.AnnAssign) else []
        if any(isinstance(target, ast.Name) and target.id == "REFERENCE" for target in targets):
            declared = one.value.value if isinstance(one.value, ast.Constant) else "?"
            if not isinstance(declared, bool):
                raise Unusable(f"REFERENCE must be True or False (line {one.lineno})")
    return declared


def uses(function, name):
    nodes = [node for statement in function.body for node in ast.walk(statement)]
    return any(isinstance(node, ast.Name) and node.id == name for node in nodes)


try:
    with open("eval.py", encoding="utf-8") as file:
        print(json.dumps(describe(file.read())))
except Unusable as error:
    print(json.dumps({"unusable": str(error)}))
except SyntaxError as error:
    print(json.dumps({"unusable": f"it is not valid Python: {error.msg} (line {error.lineno})"}))
except (ValueError, RecursionError, MemoryError) as error:
    print(json.dumps({"unusable": f"it is not valid Python: {error}"}))
