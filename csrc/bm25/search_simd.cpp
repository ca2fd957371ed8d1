// Compiled once for each instruction set level (see util/isa.hpp). Every level computes the same bits: only
// comparisons are vectorised, sums are made one posting at a time.
#include "bm25/search_simd.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace sqe::bm25::SQE_ISA {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;

void accumulate(const u32* postings, u32 n, const float* weights, float factor, float* scores) {
  u32 i = 0;
  for (; i + 4 <= n; i += 4) {
    const u32 a = postings[i];
    const u32 b = postings[i + 1];
    const u32 c = postings[i + 2];
    const u32 d = postings[i + 3];
    // The documents of one term differ, so the four sums do not depend on each other.
    const float sum_a = scores[a & 0xFFFF] + factor * weights[a >> 16];
    const float sum_b = scores[b & 0xFFFF] + factor * weights[b >> 16];
    const float sum_c = scores[c & 0xFFFF] + factor * weights[c >> 16];
    const float sum_d = scores[d & 0xFFFF] + factor * weights[d >> 16];
    scores[a & 0xFFFF] = sum_a;
    scores[b & 0xFFFF] = sum_b;
    scores[c & 0xFFFF] = sum_c;
    scores[d & 0xFFFF] = sum_d;
  }
  for (; i < n; ++i) scores[postings[i] & 0xFFFF] += factor * weights[postings[i] >> 16];
}

u32 accumulate_touching(const u32* postings, u32 n, const float* weights, float factor, float* scores,
                        u16* touched, u32 n_touched) {
  for (u32 i = 0; i < n; ++i) {
    const u32 p = postings[i];
    const float before = scores[p & 0xFFFF];
    scores[p & 0xFFFF] = before + factor * weights[p >> 16];
    touched[n_touched] = static_cast<u16>(p);
    n_touched += before == 0.0f;
  }
  return n_touched;
}

void accumulate_present(const u32* postings, u32 n, const float* weights, float factor, float* scores) {
  for (u32 i = 0; i < n; ++i) {
    const u32 p = postings[i];
    const float before = scores[p & 0xFFFF];
    // A multiplication by 0 or 1 instead of a branch: whether a document is present is unpredictable.
    const float present = static_cast<float>(before > 0.0f);
    scores[p & 0xFFFF] = before + present * (factor * weights[p >> 16]);
  }
}

u32 scan(const float* scores, u32 n, float cut, u16* out) {
  u32 count = 0;
  u32 i = 0;
#if defined(__AVX512F__)
  const __m512 limit = _mm512_set1_ps(cut);
  const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (; i + 16 <= n; i += 16) {
    const __mmask16 mask = _mm512_cmp_ps_mask(_mm512_loadu_ps(scores + i), limit, _CMP_GE_OQ);
    if (mask == 0) continue;
    const __m512i doc = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(i)), lanes);
    const __m256i kept = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, doc));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + count), kept);
    count += static_cast<u32>(__builtin_popcount(mask));
  }
#elif defined(__AVX2__)
  const __m256 limit = _mm256_set1_ps(cut);
  for (; i + 8 <= n; i += 8) {
    u32 mask =
        static_cast<u32>(_mm256_movemask_ps(_mm256_cmp_ps(_mm256_loadu_ps(scores + i), limit, _CMP_GE_OQ)));
    for (; mask; mask &= mask - 1) out[count++] = static_cast<u16>(i + static_cast<u32>(__builtin_ctz(mask)));
  }
#endif
  for (; i < n; ++i) {
    out[count] = static_cast<u16>(i);
    count += scores[i] >= cut;
  }
  return count;
}

u32 filter(const float* scores, const u16* docs, u32 n, float cut, u16* out) {
  u32 count = 0;
  u32 i = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__)
  const __m512 limit = _mm512_set1_ps(cut);
  for (; i + 16 <= n; i += 16) {
    const __m512i doc = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(docs + i)));
    const __mmask16 mask = _mm512_cmp_ps_mask(_mm512_i32gather_ps(doc, scores, 4), limit, _CMP_GE_OQ);
    const __m256i kept = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, doc));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + count), kept);
    count += static_cast<u32>(__builtin_popcount(mask));
  }
#endif
  for (; i < n; ++i) {
    const u16 doc = docs[i];
    out[count] = doc;
    count += scores[doc] >= cut;
  }
  return count;
}

u32 bound_by_bitmap(const std::uint64_t* bitmap, float bound, float cut, u16* docs, float* sums, u32 n) {
  u32 count = 0;
  u32 i = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__)
  const __m512 more = _mm512_set1_ps(bound);
  const __m512 limit = _mm512_set1_ps(cut);
  const __m512i low_bits = _mm512_set1_epi32(31);
  for (; i + 16 <= n; i += 16) {
    const __m512i doc = _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(docs + i)));
    const __m512i word = _mm512_i32gather_epi32(_mm512_srli_epi32(doc, 5), bitmap, 4);
    const __m512i bit = _mm512_sllv_epi32(_mm512_set1_epi32(1), _mm512_and_si512(doc, low_bits));
    __m512 sum = _mm512_loadu_ps(sums + i);
    sum = _mm512_mask_add_ps(sum, _mm512_test_epi32_mask(word, bit), sum, more);
    const __mmask16 mask = _mm512_cmp_ps_mask(sum, limit, _CMP_GE_OQ);
    const __m256i kept = _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(mask, doc));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(docs + count), kept);
    _mm512_storeu_ps(sums + count, _mm512_maskz_compress_ps(mask, sum));
    count += static_cast<u32>(__builtin_popcount(mask));
  }
#endif
  for (; i < n; ++i) {
    const u32 doc = docs[i];
    const float present = static_cast<float>((bitmap[doc >> 6] >> (doc & 63)) & 1);
    const float sum = sums[i] + present * bound;
    docs[count] = static_cast<u16>(doc);
    sums[count] = sum;
    count += sum >= cut;
  }
  return count;
}

// The loops below are plain: the compiler makes the level's vector code of them.

void gather(const float* scores, const u16* docs, u32 n, float* out) {
  for (u32 i = 0; i < n; ++i) out[i] = scores[docs[i]];
}

void fold(const float* __restrict values, u32 n, u32 m, float* __restrict out) {
  for (u32 i = 0; i < m; ++i) out[i] = values[i];
  for (u32 begin = m; begin < n; begin += m) {
    const float* __restrict group = values + begin;
    const u32 size = n - begin < m ? n - begin : m;
    for (u32 i = 0; i < size; ++i) out[i] = out[i] > group[i] ? out[i] : group[i];
  }
}

u32 count_from(const float* values, u32 n, float cut) {
  u32 count = 0;
  for (u32 i = 0; i < n; ++i) count += values[i] >= cut ? 1u : 0u;
  return count;
}

float largest(const float* values, u32 n) {
  // Floats that are not negative order like their bits; an integer maximum is free to be vectorised.
  int best = 0;
  for (u32 i = 0; i < n; ++i) {
    int bits;
    __builtin_memcpy(&bits, values + i, sizeof bits);
    best = bits > best ? bits : best;
  }
  float value;
  __builtin_memcpy(&value, &best, sizeof value);
  return value;
}

}  // namespace

const SearchKernels& search_kernels() {
  static const SearchKernels table = {accumulate,
                                      accumulate_touching,
                                      accumulate_present,
                                      scan,
                                      filter,
                                      bound_by_bitmap,
                                      gather,
                                      fold,
                                      count_from,
                                      largest};
  return table;
}

}  // namespace sqe::bm25::SQE_ISA
