# The worker and every other command of recon, for production: `docker build -t wallet-recon .`

FROM node:24-bookworm-slim AS packages
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional package is a Node of its own, for machines with an older one. What only people and compilers read stays behind.
RUN npm ci --omit=dev --omit=optional \
  && find node_modules -type f \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' -o -name '*.md' \) -delete

FROM node:24-bookworm-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=packages /app/node_modules node_modules
COPY package.json recon.config.schema.json LICENSE ./
COPY src src
COPY jobs jobs
# Each --help leaves its program compiled in the image: the file system is read-only later.
RUN ln -s /app/src/cli/main.ts /usr/local/bin/recon \
  && for command in worker callbacks tap migrate status mismatches doctor; do recon $command --help > /dev/null; done
# Where a tap keeps its journal: a volume takes its owner from here.
RUN mkdir /journal && chown 1000:1000 /journal
USER 1000:1000
EXPOSE 3000 3001
HEALTHCHECK --interval=30s --timeout=5s --start-period=90s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.OPS_PORT || 3000}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["recon"]
CMD ["worker"]
