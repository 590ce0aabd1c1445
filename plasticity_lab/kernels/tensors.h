// Tensors as the kernels take and return them. Of torch only its stable C++ interface is read: its headers take a fifth of the
// time of all of ATen's, so that each part of the kernels can be compiled by itself, and only if a run needs it. Schemas, layouts
// and gradients are declared in Python; see operators.py.
#pragma once

#define TORCH_TARGET_VERSION ((2ULL << 56) | (11ULL << 48))  // torch 2.11 and later

#include <torch/csrc/stable/library.h>
#include <torch/csrc/stable/ops.h>
#include <torch/csrc/stable/tensor.h>

#include <algorithm>
#include <initializer_list>
#include <tuple>
#include <vector>

namespace {

using torch::headeronly::ScalarType;
using torch::stable::Tensor;

inline void check(const Tensor& x) {
  STD_TORCH_CHECK(x.scalar_type() == ScalarType::Float && x.is_contiguous(), "float32 in one piece is needed");
}

// The same numbers in one piece. Asked here first: a call of torch's operator looks it up by name.
inline Tensor in_one_piece(const Tensor& x) { return x.is_contiguous() ? x : torch::stable::contiguous(x); }

// float32 numbers in one piece that are written before they are read.
inline Tensor empty(std::initializer_list<int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0; step *= std::max<int64_t>(sizes.begin()[i], 1)) strides[i] = step;
  AtenTensorHandle made;
  TORCH_ERROR_CODE_CHECK(aoti_torch_empty_strided(sizes.size(), sizes.begin(), strides.data(), aoti_torch_dtype_float32(),
                                                  aoti_torch_device_type_cpu(), 0, &made));
  return Tensor(made);
}

}  // namespace
