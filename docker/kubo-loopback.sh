#!/bin/sh
# Run by the Kubo image before each start of its daemon: RPC API and gateway on loopback, where the image by itself
# opens them to every interface.
set -eu
ipfs config Addresses.API /ip4/127.0.0.1/tcp/5001
ipfs config Addresses.Gateway /ip4/127.0.0.1/tcp/8080
