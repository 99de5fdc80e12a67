// Package nvidia opens NVIDIA's libraries at run time, each once for all who need it: the driver, NVRTC (the
// run-time compiler), cuBLAS and cuSOLVER. So one program serves nodes with and without GPUs, and no CUDA
// toolkit is needed to build it.
//
// A library is looked for where the dynamic linker looks, then in lib64 of CUDA_HOME, CUDA_PATH and
// /usr/local/cuda. What is not there is an error that wraps ErrMissing.
package nvidia
