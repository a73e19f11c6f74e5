# Decides whether troupe is built for GPUs:
#
#   TROUPE_CUDA   AUTO (if the CUDA toolkit is found), ON (it must be) or OFF
#
# Sets TROUPE_HAS_CUDA, and TROUPE_HAS_NCCL if NCCL is there too. No GPU is needed to build.
set(TROUPE_CUDA AUTO CACHE STRING "Build for GPUs: AUTO (if the CUDA toolkit is found), ON or OFF")
set_property(CACHE TROUPE_CUDA PROPERTY STRINGS AUTO ON OFF)

set(TROUPE_HAS_CUDA FALSE)
set(TROUPE_HAS_NCCL FALSE)
if(TROUPE_CUDA)
  find_package(CUDAToolkit 12 QUIET)  # the first whose compiler knows C++20
  if(CUDAToolkit_FOUND AND CUDAToolkit_NVCC_EXECUTABLE)
    set(TROUPE_HAS_CUDA TRUE)
  elseif(NOT TROUPE_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "TROUPE_CUDA is ${TROUPE_CUDA}, but no CUDA toolkit 12 or newer is found. Install it, name its "
                        "folder with -DCUDAToolkit_ROOT=..., or use -DTROUPE_CUDA=OFF.")
  endif()
endif()

if(TROUPE_HAS_CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_COMPILER "${CUDAToolkit_NVCC_EXECUTABLE}" CACHE FILEPATH "CUDA compiler")
  endif()
  # A100 and H100; newer ones compile the H100's intermediate code when they load it.
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90 CACHE STRING "GPUs to compile for")
  endif()
  # nvcc passes the host's part of a source to a C++ compiler: the project's if it is GCC, else the one it finds.
  if(NOT CMAKE_CUDA_HOST_COMPILER AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set(CMAKE_CUDA_HOST_COMPILER "${CMAKE_CXX_COMPILER}")
  endif()
  if(NOT CMAKE_CUDA_COMPILER_LAUNCHER)
    set(CMAKE_CUDA_COMPILER_LAUNCHER "${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
  enable_language(CUDA)
  find_package(NCCL 2.14 QUIET)  # the first with non-blocking communicators
  set(TROUPE_HAS_NCCL ${NCCL_FOUND})
  set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)  # toolkits lie where the loader does not look by itself
endif()
message(STATUS "GPUs: CUDA ${TROUPE_HAS_CUDA} ${CUDAToolkit_VERSION}, NCCL ${TROUPE_HAS_NCCL} ${NCCL_VERSION}")
