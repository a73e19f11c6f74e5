// Everything that an application needs, in one include.
#pragma once

#include <troupe/actors/fibers/mutex.hpp>
#include <troupe/actors/fibers/sleep.hpp>
#include <troupe/actors/messages/message_types.hpp>
#include <troupe/device/kernels/elementwise.hpp>
#include <troupe/runtime/checkpoint.hpp>
#include <troupe/runtime/cluster.hpp>
#include <troupe/runtime/cluster_coordinator.hpp>
#include <troupe/runtime/dataset.hpp>
#include <troupe/runtime/dataset_sources.hpp>
#include <troupe/runtime/distributed_dataset.hpp>
#include <troupe/runtime/mirrored_strategy.hpp>
#include <troupe/runtime/multi_worker_mirrored_strategy.hpp>
#include <troupe/runtime/node.hpp>
#include <troupe/runtime/parameter_server_strategy.hpp>
#include <troupe/runtime/partitioner.hpp>
#include <troupe/runtime/remote_value.hpp>
#include <troupe/runtime/replica_context.hpp>
#include <troupe/runtime/rpc_client.hpp>
#include <troupe/runtime/rpc_server.hpp>
#include <troupe/runtime/run.hpp>
#include <troupe/runtime/strategy_extended.hpp>
#include <troupe/runtime/system_config.hpp>
#include <troupe/runtime/unzip.hpp>
#include <troupe/runtime/variable.hpp>
#include <troupe/runtime/worker_strategy.hpp>
