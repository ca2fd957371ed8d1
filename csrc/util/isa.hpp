// Which instruction set level the kernels use. One binary holds all levels; the level is chosen at run time.
//
// A kernel file named *_simd.cpp is compiled once per level, with SQE_ISA set to the level's namespace
// (isa_baseline, isa_avx2, isa_avx512). Such a file must not instantiate inline functions or templates of
// other headers: the linker keeps one copy of each, which could be the one with instructions the machine
// lacks.
#pragma once

#include <string>
#include <vector>

// A level compiled without its instructions would run, pass every test and be slow: refuse to build it.
#if defined(SQE_ISA_LEVEL) && defined(SQE_X86)
#if (SQE_ISA_LEVEL == 0 && defined(__AVX__)) || (SQE_ISA_LEVEL == 1 && !defined(__AVX2__)) || \
    (SQE_ISA_LEVEL == 1 && defined(__AVX512F__)) || (SQE_ISA_LEVEL == 2 && !defined(__AVX512BW__))
#error "this file is not compiled for the instruction set level it is named for: look at the order of -march"
#endif
#endif

namespace sqe {

enum class Isa : int { baseline = 0, avx2 = 1, avx512 = 2 };

// The level in use: the best the machine has, unless set_isa or SQE_FAST_ISA chose another.
Isa isa();

// Choose a level by name ("baseline", "avx2", "avx512"); InputError if unknown or not supported here.
void set_isa(const std::string& name);

std::string isa_name(Isa level);

// Names of the levels this machine and build support, lowest first.
std::vector<std::string> isa_levels();

}  // namespace sqe

// Pick the table of kernels of the level in use: SQE_DISPATCH(text_kernels) -> const Kernels&.
// Each level's namespace must define `const Kernels& name()`.
#if defined(SQE_X86)
#define SQE_DISPATCH(name)                                 \
  (::sqe::isa() == ::sqe::Isa::avx512 ? isa_avx512::name() \
   : ::sqe::isa() == ::sqe::Isa::avx2 ? isa_avx2::name()   \
                                      : isa_baseline::name())
#define SQE_DECLARE_LEVELS(Kernels, name) \
  namespace isa_baseline {                \
  const Kernels& name();                  \
  }                                       \
  namespace isa_avx2 {                    \
  const Kernels& name();                  \
  }                                       \
  namespace isa_avx512 {                  \
  const Kernels& name();                  \
  }
#else
#define SQE_DISPATCH(name) (isa_baseline::name())
#define SQE_DECLARE_LEVELS(Kernels, name) \
  namespace isa_baseline {                \
  const Kernels& name();                  \
  }
#endif
