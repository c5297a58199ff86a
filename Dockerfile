# art-e with the requirements of its Python sandbox. See docs/container.md for how to run it.
FROM node:24-slim AS build
WORKDIR /opt/art-e
COPY . .
# The three packages for runs with a queue (docs/scale.md).
RUN npm ci --no-audit --no-fund \
  && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
  && npm install --prefix /opt --ignore-scripts --no-audit --no-fund bullmq@6 ioredis@5 rate-limiter-flexible@11

FROM node:24-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends bubblewrap ca-certificates python3 \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /opt/art-e
COPY --from=build /opt/art-e/package.json /opt/art-e/CHANGELOG.md /opt/art-e/THIRD_PARTY_NOTICES.md \
  /opt/art-e/SKILL.md /opt/art-e/llms.txt ./
COPY --from=build /opt/art-e/bin bin
COPY --from=build /opt/art-e/dist dist
COPY --from=build /opt/art-e/sql sql
COPY --from=build /opt/art-e/schema schema
COPY --from=build /opt/art-e/docs docs
COPY --from=build /opt/art-e/examples examples
COPY --from=build /opt/art-e/fixtures/demo fixtures/demo
COPY --from=build /opt/art-e/fixtures/suites fixtures/suites
COPY --from=build /opt/art-e/node_modules node_modules
COPY --from=build /opt/node_modules /opt/node_modules
RUN ln -s /opt/art-e/bin/art-e.js /usr/local/bin/art-e \
  && mkdir /data \
  && chown node:node /data
# The database, the download cache, art-e.yaml and .env lie here.
VOLUME /data
WORKDIR /data
USER node
ENTRYPOINT ["art-e"]
CMD ["--help"]
