// Room for numbers of a kernel's own.
#pragma once

#include <vector>

#include "vectors.h"

namespace {

// Room for some numbers that begins on a vector's boundary.
struct Room {
  std::vector<float> room;
  float* begin;

  explicit Room(long count) : room(count + LANES), begin(room.data()) {
    while (reinterpret_cast<uintptr_t>(begin) % sizeof(Vector)) begin++;
  }
};

}  // namespace
