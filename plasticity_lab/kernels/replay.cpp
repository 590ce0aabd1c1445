// Replay memories on the host: priorities, sampled steps, n-step returns and stacked frames. replay/ has the definitions in NumPy;
// the bits are the same. Sums are added one by one. Eight of them are computed side by side, since each addition waits for the last.
//
// Legend: K runs, C blocks of BLOCK places, B places of each run, L rows of the ring, N environments, F frames of an observation.

#include <immintrin.h>

#include <cstring>

#include "tensors.h"
#include "vectors.h"

namespace {

constexpr long BLOCK = 256, SIDE_BY_SIDE = 8, LINE = 64, AHEAD = 4;

template <class T>
T* out(const Tensor& x, ScalarType type) {
  STD_TORCH_CHECK(x.scalar_type() == type && x.is_contiguous(), "an array is in one piece, and of its type");
  return static_cast<T*>(x.mutable_data_ptr());
}

template <class T>
const T* in(const Tensor& x, ScalarType type) {
  return out<const T>(x, type);
}

const int64_t* whole(const Tensor& x) { return in<int64_t>(x, ScalarType::Long); }

// Words 4n to 4n + 3 of a new generator of numpy.random.Philox: Philox-4×64-10, from counter 1 on.
void philox(const int64_t* key, long n, uint64_t* c) {
  c[0] = n + 1, c[1] = c[2] = c[3] = 0;
  uint64_t k0 = key[0], k1 = key[1];
  for (int round = 0; round < 10; round++) {
    const auto p0 = static_cast<unsigned __int128>(c[0]) * 0xD2E7470EE14C6C93u;
    const auto p1 = static_cast<unsigned __int128>(c[2]) * 0xCA5A826395121157u;
    const uint64_t one = static_cast<uint64_t>(p1 >> 64) ^ c[1] ^ k0, other = static_cast<uint64_t>(p0 >> 64) ^ c[3] ^ k1;
    c[0] = one, c[1] = static_cast<uint64_t>(p1), c[2] = other, c[3] = static_cast<uint64_t>(p0);
    k0 += 0x9E3779B97F4A7C15u, k1 += 0xBB67AE8584CAA73Bu;
  }
}

// Uniform numbers in [0, 1) of a new generator.
void uniforms(const int64_t* key, long count, double* to) {
  for (long n = 0; n < count; n += 4) {
    uint64_t c[4];
    philox(key, n / 4, c);
    for (long i = 0; i < std::min(4L, count - n); i++) to[n + i] = static_cast<double>(c[i] >> 11) * 0x1p-53;
  }
}

// A block of priorities, and the point that is searched in its sums.
struct Search {
  const float* values;
  double point;
  int64_t* place;
  int64_t first;
};

long last_above_zero(const double* values, long count) {
  for (long i = count; i-- > 0;)
    if (values[i] > 0) return i;
  return count - 1;
}

// The place whose sum is the first above the point. Rounding may leave none: then the last place with a priority.
void found(const Search& search, long not_above) {
  if (not_above == BLOCK) {
    not_above = BLOCK - 1;
    for (long i = BLOCK; i-- > 0;)
      if (search.values[i] > 0) {
        not_above = i;
        break;
      }
  }
  *search.place = search.first + not_above;
}

template <long COUNT>
void search(const Search* some) {
  double sums[COUNT] = {};
  long not_above[COUNT] = {};
  for (long i = 0; i < BLOCK; i++)
    for (long j = 0; j < COUNT; j++) {
      sums[j] += static_cast<double>(some[j].values[i]);
      not_above[j] += !(sums[j] > some[j].point);
    }
  for (long j = 0; j < COUNT; j++) found(some[j], not_above[j]);
}

// Whole numbers below a limit, as NumPy's Generator.integers gives them for limits of at most 32 bits: Lemire's method, with both
// halves of each word.
void integers(const int64_t* key, uint32_t limit, long count, std::vector<uint64_t>& words, int64_t* to) {
  long next = 0;
  const auto half = [&] {
    if (next % 8 == 0) {
      if (next / 2 + 4 > static_cast<long>(words.size())) words.resize(2 * words.size() + 4);
      philox(key, next / 8, &words[next / 2]);
    }
    const uint64_t word = words[next / 2];
    return static_cast<uint32_t>(next++ % 2 ? word >> 32 : word);
  };
  for (long i = 0; i < count; i++) {
    uint64_t found = static_cast<uint64_t>(half()) * limit;
    if (static_cast<uint32_t>(found) < limit)
      for (const uint32_t least = (0u - limit) % limit; static_cast<uint32_t>(found) < least;) found = static_cast<uint64_t>(half()) * limit;
    to[i] = found >> 32;
  }
}

// The places of one draw of each run. keys (K, 2); values (K, C, BLOCK); sums (K, C); places (K, B), written.
void priorities_drawn(const Tensor& keys, const Tensor& values, const Tensor& sums, const Tensor& places) {
  const long runs = sums.size(0), blocks = sums.size(1), size = places.size(1);
  const int64_t* key = whole(keys);
  const float* value = in<float>(values, ScalarType::Float);
  const double* sum = in<double>(sums, ScalarType::Double);
  int64_t* place = out<int64_t>(places, ScalarType::Long);
  std::vector<double> drawn(size), cumulated(blocks);
  std::vector<Search> searches;
  searches.reserve(runs * size);
  for (long run = 0; run < runs; run++) {
    uniforms(key + 2 * run, size, drawn.data());
    double total = 0;
    for (long block = 0; block < blocks; block++) cumulated[block] = total += sum[run * blocks + block];
    const long last = last_above_zero(sum + run * blocks, blocks);
    for (long b = 0; b < size; b++) {
      const double wanted = (static_cast<double>(b) + drawn[b]) / static_cast<double>(size) * total;
      const long block = std::min<long>(std::upper_bound(cumulated.begin(), cumulated.end(), wanted) - cumulated.begin(), last);
      const double below = block > 0 ? cumulated[block - 1] : 0.0;
      const float* of_block = value + (run * blocks + block) * BLOCK;
      for (long i = 0; i < BLOCK; i += LINE / 4) _mm_prefetch(reinterpret_cast<const char*>(of_block + i), _MM_HINT_T0);
      searches.push_back({of_block, wanted - below, place + run * size + b, block * BLOCK});
    }
  }
  const long count = searches.size();
  long n = 0;
  for (; n + SIDE_BY_SIDE <= count; n += SIDE_BY_SIDE) search<SIDE_BY_SIDE>(&searches[n]);
  for (; n < count; n++) search<1>(&searches[n]);
}

template <long COUNT>
void add_up(const float* const* values, double* const* to) {
  double sums[COUNT] = {};
  for (long i = 0; i < BLOCK; i++)
    for (long j = 0; j < COUNT; j++) sums[j] += static_cast<double>(values[j][i]);
  for (long j = 0; j < COUNT; j++) *to[j] = sums[j];
}

// Sets priorities (K, B) of these places; if a place occurs twice, its last value counts.
void priorities_put(const Tensor& places, const Tensor& priorities, const Tensor& values, const Tensor& sums) {
  const long runs = sums.size(0), blocks = sums.size(1), size = places.size(1);
  const int64_t* place = whole(places);
  const float* given = in<float>(priorities, ScalarType::Float);
  float* value = out<float>(values, ScalarType::Float);
  double* sum = out<double>(sums, ScalarType::Double);
  std::vector<const float*> changed(runs * size);
  std::vector<double*> to(runs * size);
  for (long run = 0, n = 0; run < runs; run++)
    for (long b = 0; b < size; b++, n++) {
      STD_TORCH_CHECK(place[n] >= 0 && place[n] < blocks * BLOCK, "a place is in the memory");
      const long block = run * blocks + place[n] / BLOCK;
      value[run * blocks * BLOCK + place[n]] = given[n];
      changed[n] = value + block * BLOCK, to[n] = sum + block;
      for (long i = 0; i < BLOCK; i += LINE / 4) _mm_prefetch(reinterpret_cast<const char*>(changed[n] + i), _MM_HINT_T0);
    }
  const long count = changed.size();
  long n = 0;
  for (; n + SIDE_BY_SIDE <= count; n += SIDE_BY_SIDE) add_up<SIDE_BY_SIDE>(&changed[n], &to[n]);
  for (; n < count; n++) add_up<1>(&changed[n], &to[n]);
}

// The place of a step of a run in arrays (L, K, N, ...).
struct Rows {
  long rows, runs, environments;

  Rows(const Tensor& first) : rows(first.size(0)), runs(first.size(1)), environments(first.size(2)) {}
  long at(int64_t step, long run, int64_t environment) const {
    const int64_t row = step % rows;
    return ((row < 0 ? row + rows : row) * runs + run) * environments + environment;
  }
};

// Observations (K, B, F · bytes) of steps, restacked: 0 before the first frame of an episode. frames (L, K, N, bytes); first (L, K, N).
void stacked(const Tensor& frames, const Tensor& first, const Tensor& steps, const Tensor& environments, int64_t stack, const Tensor& to) {
  const Rows rows(first);
  const long size = steps.size(1), bytes = frames.size(3);
  const uint8_t* frame = in<uint8_t>(frames, ScalarType::Byte);
  const bool* begins = in<bool>(first, ScalarType::Bool);
  const int64_t *step = whole(steps), *environment = whole(environments);
  uint8_t* written = out<uint8_t>(to, ScalarType::Byte);
  STD_TORCH_CHECK(steps.size(0) == rows.runs && to.size(2) == stack * bytes, "steps and observations are of one size");
  const long count = rows.runs * size;
  for (long n = 0; n < count; n++) {
    STD_TORCH_CHECK(environment[n] >= 0 && environment[n] < rows.environments, "an environment is in the memory");
    if (n + AHEAD < count) {
      const uint8_t* later = frame + rows.at(step[n + AHEAD], (n + AHEAD) / size, environment[n + AHEAD]) * bytes;
      for (long i = 0; i < std::min(bytes, 8 * LINE); i += LINE) _mm_prefetch(reinterpret_cast<const char*>(later + i), _MM_HINT_T0);
    }
    bool before = false;  // whether an episode begins after this frame
    for (long back = 0; back < stack; back++) {
      const long at = rows.at(step[n] - back, n / size, environment[n]);
      uint8_t* own = written + (n * stack + stack - 1 - back) * bytes;
      if (before)
        std::memset(own, 0, bytes);
      else
        std::memcpy(own, frame + at * bytes, bytes);
      before |= begins[at];
    }
  }
}

// Copies rows of `bytes` from these addresses (R): to[at[n]] is what lies at addresses[n]. The caller keeps that memory.
void gathered(const Tensor& addresses, const Tensor& at, const Tensor& to) {
  const int64_t *address = whole(addresses), *row = whole(at);
  const long count = addresses.size(0), bytes = to.size(1);
  STD_TORCH_CHECK(at.size(0) == count, "each address has a row");
  uint8_t* written = out<uint8_t>(to, ScalarType::Byte);
  for (long n = 0; n < count; n++) {
    STD_TORCH_CHECK(row[n] >= 0 && row[n] < to.size(0), "a row is in the result");
    std::memcpy(written + row[n] * bytes, reinterpret_cast<const void*>(address[n]), bytes);
  }
}

// Whether a ring has all that the return from a step needs: `NStep.usable`, for one step.
struct Usable {
  const Rows rows;
  const bool *first, *terminated, *truncated, *lost;
  const bool life_ends;
  const int64_t oldest, end, n_step, stack;

  bool operator()(int64_t step, long run, int64_t environment) const {
    if (step < oldest || step >= end) return false;
    for (long back = 0; back + 1 < stack && !first[rows.at(step - back, run, environment)]; back++)
      if (step - back - 1 < oldest) return false;
    for (int64_t at = step; at < step + n_step; at++) {
      if (at >= end) return false;
      const long here = rows.at(at, run, environment);
      if (terminated[here] || (life_ends && lost[here])) return true;
      if (truncated[here] || at + 1 >= end || first[rows.at(at + 1, run, environment)]) return false;
    }
    return true;
  }
};

// A uniform draw of each run, and whether its steps are usable. numbers, usable (K, B), written: the numbers count all environments
// of the oldest step first.
void uniform_drawn(const Tensor& keys, const Tensor& first, const Tensor& terminated, const Tensor& truncated, const Tensor& life_lost,
                   bool life_ends, int64_t oldest, int64_t end, int64_t n_step, int64_t stack, const Tensor& numbers, const Tensor& usable) {
  const Rows rows(first);
  const long size = numbers.size(1);
  const auto flags = [](const Tensor& x) { return in<bool>(x, ScalarType::Bool); };
  const Usable is_usable{rows, flags(first), flags(terminated), flags(truncated), flags(life_lost), life_ends, oldest, end, n_step, stack};
  const int64_t* key = whole(keys);
  int64_t* number = out<int64_t>(numbers, ScalarType::Long);
  bool* found = out<bool>(usable, ScalarType::Bool);
  std::vector<uint64_t> words(size / 2 + 8);
  for (long run = 0; run < rows.runs; run++) {
    integers(key + 2 * run, (end - oldest) * rows.environments, size, words, number + run * size);
    for (long n = run * size; n < (run + 1) * size; n++)
      found[n] = is_usable(oldest + number[n] / rows.environments, run, number[n] % rows.environments);
  }
}

// n-step returns of usable steps. rewards and ends, whether a return ends with a step, (L, K, N); gamma (K); the others (K, B).
void returns(const Tensor& rewards, const Tensor& terminated, const Tensor& life_lost, bool life_ends, const Tensor& steps,
             const Tensor& environments, const Tensor& gammas, int64_t n_step, const Tensor& sums, const Tensor& discounts,
             const Tensor& following) {
  const Rows rows(rewards);
  const long size = steps.size(1);
  const float* reward = in<float>(rewards, ScalarType::Float);
  const bool *over = in<bool>(terminated, ScalarType::Bool), *lost = in<bool>(life_lost, ScalarType::Bool);
  const int64_t *step = whole(steps), *environment = whole(environments);
  const double* gamma = in<double>(gammas, ScalarType::Double);
  float *sum = out<float>(sums, ScalarType::Float), *discount = out<float>(discounts, ScalarType::Float);
  int64_t* then = out<int64_t>(following, ScalarType::Long);
  for (long n = 0; n < rows.runs * size; n++) {
    double found = 0, factor = 1;
    bool goes_on = true;
    for (long i = 0; i < n_step && goes_on; i++) {
      const long at = rows.at(step[n] + i, n / size, environment[n]);
      found += factor * static_cast<double>(reward[at]);
      factor *= gamma[n / size];
      goes_on = !(over[at] || (life_ends && lost[at]));
    }
    sum[n] = static_cast<float>(found);
    discount[n] = goes_on ? static_cast<float>(factor) : 0.0f;
    then[n] = goes_on ? step[n] + n_step : step[n];
  }
}

}  // namespace

STABLE_TORCH_LIBRARY_IMPL(plasticity_lab, CPU, library) {
  library.impl("priorities_drawn", TORCH_BOX(&priorities_drawn));
  library.impl("priorities_put", TORCH_BOX(&priorities_put));
  library.impl("uniform_drawn", TORCH_BOX(&uniform_drawn));
  library.impl("stacked", TORCH_BOX(&stacked));
  library.impl("gathered", TORCH_BOX(&gathered));
  library.impl("returns", TORCH_BOX(&returns));
}
