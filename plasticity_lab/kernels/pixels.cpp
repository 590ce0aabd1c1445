// Images as bytes, their pixels in another order. Sixteen images at a time are laid out pixel by pixel, where sixteen bytes move at
// once, and turned back.

#include <immintrin.h>

#include <algorithm>

#include "tensors.h"
#include "vectors.h"

namespace {

constexpr long SQUARE = 16;

struct Bytes {
  __m128i row[SQUARE];

  INLINE static Bytes of(const uint8_t* from, long step) {
    Bytes found;
    for (long i = 0; i < SQUARE; i++) found.row[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i * step));
    return found;
  }
  INLINE void put(uint8_t* to, long step) const {
    for (long i = 0; i < SQUARE; i++) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i * step), row[i]);
  }
  // Rows as columns: each of four times, every row meets the one eight rows below it.
  INLINE Bytes turned() const {
    Bytes found = *this;
    for (int time = 0; time < 4; time++) {
      const Bytes last = found;
      for (long i = 0; i < SQUARE / 2; i++) {
        found.row[2 * i] = _mm_unpacklo_epi8(last.row[i], last.row[i + SQUARE / 2]);
        found.row[2 * i + 1] = _mm_unpackhi_epi8(last.row[i], last.row[i + SQUARE / 2]);
      }
    }
    return found;
  }
};

// Sixteen images. columns: room for them.
void reordered_squares(const uint8_t* from, const std::vector<int64_t>& order, std::vector<uint8_t>& columns, uint8_t* to) {
  const long pixels = order.size();
  for (long d = 0; d < pixels; d += SQUARE) {
    const long first = std::min(d, pixels - SQUARE);  // the last one meets the one before
    Bytes::of(from + first, pixels).turned().put(&columns[first * SQUARE], SQUARE);
  }
  for (long d = 0; d < pixels; d += SQUARE) {
    const long first = std::min(d, pixels - SQUARE);
    Bytes some;
    for (long i = 0; i < SQUARE; i++)
      some.row[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(&columns[order[first + i] * SQUARE]));
    some.turned().put(to + first, pixels);
  }
}

// to[n, d] = images[n, order[d]]; images and to are (N, D), order is (D) and below D.
void reordered(const Tensor& images, const Tensor& order, const Tensor& to) {
  for (const Tensor& bytes : {images, to})
    STD_TORCH_CHECK(bytes.scalar_type() == ScalarType::Byte && bytes.is_contiguous(), "bytes in one piece are needed");
  STD_TORCH_CHECK(order.scalar_type() == ScalarType::Long && order.is_contiguous(), "an order is int64, in one piece");
  STD_TORCH_CHECK(images.size(0) == to.size(0) && images.size(1) == to.size(1) && images.size(1) == order.size(0), "images and order are of one size");
  const long count = images.size(0), pixels = images.size(1);
  const int64_t* given = order.const_data_ptr<int64_t>();
  const std::vector<int64_t> places(given, given + pixels);
  for (int64_t place : places) STD_TORCH_CHECK(place >= 0 && place < pixels, "an order names pixels of the image");
  const uint8_t* from = images.const_data_ptr<uint8_t>();
  uint8_t* out = to.mutable_data_ptr<uint8_t>();
  std::vector<uint8_t> columns(pixels * SQUARE);
  long n = 0;
  if (pixels >= SQUARE)
    for (; n + SQUARE <= count; n += SQUARE) reordered_squares(from + n * pixels, places, columns, out + n * pixels);
  for (; n < count; n++)
    for (long d = 0; d < pixels; d++) out[n * pixels + d] = from[n * pixels + places[d]];
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) { library.impl("reordered", TORCH_BOX(&reordered)); }
