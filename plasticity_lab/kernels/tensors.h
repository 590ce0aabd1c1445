// What the kernels are given.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <vector>

namespace {

inline void check(const at::Tensor& x) {
  TORCH_CHECK(x.scalar_type() == at::kFloat && x.is_contiguous(), "float32 in one piece is needed");
}

// Of what an operator is given any layout will do: torch.compile then lays out once what several operators read. Where it would
// choose one that the operator has to copy into another, that costs more than it saves.
const std::vector<at::Tag> ANY_LAYOUT{at::Tag::flexible_layout};

// It is to be laid out as eager: images with their channels last, by the loops that compute them, and not copied by the operator.
const std::vector<at::Tag> SAME_LAYOUT{at::Tag::needs_fixed_stride_order};

}  // namespace
