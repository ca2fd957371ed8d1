// A process-wide pool of worker threads, started when first needed and safe to use after fork().
#pragma once

#include <cstddef>
#include <functional>

namespace sqe {

// Number of threads meant by `threads=None`: SQE_FAST_THREADS if set, else the CPUs this process may run on.
int default_threads();

// Call task(index, slot) for every index in [0, count); slot < threads names the thread's scratch space, and
// no two calls with one slot run at once. The calling thread takes part. The first exception a task throws is
// rethrown here once all running tasks have ended; tasks not yet started are dropped. Which thread runs which
// index is not defined, so results must not depend on it.
void parallel_for(std::size_t count, int threads,
                  const std::function<void(std::size_t index, int slot)>& task);

}  // namespace sqe
