// NCCL's functions, loaded when they are first used. Private to the CUDA part; names are NCCL's.
#pragma once

#include <troupe/device/base/internal/lazy_library.hpp>

#include <nccl.h>

namespace troupe::nccl {

inline lazy_library library{"libnccl.so.2", TROUPE_NCCL_LIBRARY};

inline const lazy_function<decltype(ncclGetUniqueId)> get_unique_id{library, "ncclGetUniqueId"};
inline const lazy_function<decltype(ncclCommInitAll)> comm_init_all{library, "ncclCommInitAll"};
inline const lazy_function<decltype(ncclCommInitRankConfig)> comm_init_rank_config{library, "ncclCommInitRankConfig"};
inline const lazy_function<decltype(ncclCommGetAsyncError)> comm_get_async_error{library, "ncclCommGetAsyncError"};
inline const lazy_function<decltype(ncclCommFinalize)> comm_finalize{library, "ncclCommFinalize"};
inline const lazy_function<decltype(ncclCommDestroy)> comm_destroy{library, "ncclCommDestroy"};
inline const lazy_function<decltype(ncclCommAbort)> comm_abort{library, "ncclCommAbort"};
inline const lazy_function<decltype(ncclGetErrorString)> get_error_string{library, "ncclGetErrorString"};
inline const lazy_function<decltype(ncclGetLastError)> get_last_error{library, "ncclGetLastError"};
inline const lazy_function<decltype(ncclAllReduce)> all_reduce{library, "ncclAllReduce"};
inline const lazy_function<decltype(ncclReduceScatter)> reduce_scatter{library, "ncclReduceScatter"};
inline const lazy_function<decltype(ncclAllGather)> all_gather{library, "ncclAllGather"};
inline const lazy_function<decltype(ncclBroadcast)> broadcast{library, "ncclBroadcast"};

}  // namespace troupe::nccl
