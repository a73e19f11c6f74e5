#!/usr/bin/env bash
# grpc.sh PROGRAM RPC_PROGRAM: a program without remote calls does not load gRPC, which costs each start 10 ms and 9 MB;
# one with them does.
set -euo pipefail

loads_grpc() { [[ $(readelf --dynamic "$1") == *NEEDED*libgrpc* ]]; }

loads_grpc "$2" || { echo "$2 has remote calls but does not load gRPC: has the library another name now?"; exit 1; }
! loads_grpc "$1" || {
  echo "$1 makes no remote call but loads gRPC: something that every program needs lies in one object file with the"
  echo "sources of RPC, or refers to them (runtime/CMakeLists.txt)"
  exit 1
}
