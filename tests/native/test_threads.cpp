#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "check.hpp"
#include "util/error.hpp"
#include "util/threads.hpp"

namespace sqe::testing {
namespace {

TEST(threads_every_index_once) {
  for (const std::size_t count : {0, 1, 2, 3, 64, 1000}) {
    for (const int threads : {-1, 0, 1, 2, 5, 16}) {
      std::vector<int> calls(count, 0);  // not atomic: one call an index
      parallel_for(count, threads, [&](std::size_t i, int) { ++calls[i]; });
      for (const int n : calls) CHECK(n == 1);
    }
  }
}

TEST(threads_slots_are_private) {
  for (int round = 0; round < 50; ++round) {
    std::vector<std::size_t> sums(7, 0);  // by slot; a race if two calls had one slot
    parallel_for(500, 7, [&](std::size_t i, int slot) { sums.at(static_cast<std::size_t>(slot)) += i; });
    std::size_t sum = 0;
    for (const std::size_t part : sums) sum += part;
    CHECK(sum == 500 * 499 / 2);
  }
}

TEST(threads_exceptions) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> begun{0};
    const bool threw = throws<std::runtime_error>([&] {
      parallel_for(100, 4, [&](std::size_t i, int) {
        ++begun;
        if (i % 10 == 3) throw std::runtime_error("from a task");
      });
    });
    CHECK(threw);
    CHECK(begun >= 4);  // indices are drawn in order, so the first to throw has three before it
  }
  int done = 0;  // the pool is as good as before
  parallel_for(1, 4, [&](std::size_t, int) { ++done; });
  CHECK(done == 1);
}

TEST(threads_nested) {
  std::atomic<std::size_t> sum{0};
  parallel_for(8, 4, [&](std::size_t, int) {
    parallel_for(8, 4, [&](std::size_t, int) { parallel_for(4, 2, [&](std::size_t i, int) { sum += i; }); });
  });
  CHECK(sum == 8 * 8 * 6);
}

TEST(threads_many_callers) {
  std::vector<std::thread> callers;
  std::atomic<std::size_t> sum{0};
  for (int c = 0; c < 8; ++c) {
    callers.emplace_back([&, c] {
      for (int round = 0; round < 100; ++round) {
        const bool bad = c == 0;
        const bool threw = throws<std::runtime_error>([&] {
          parallel_for(20, 3, [&](std::size_t i, int) {
            if (bad && i == 7) throw std::runtime_error("only this caller's");
            if (!bad) sum += i;
          });
        });
        CHECK(threw == bad);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  CHECK(sum == 7u * 100 * 190);
}

TEST(threads_after_fork) {
  parallel_for(10, 4, [](std::size_t, int) {});  // this process has workers, the child will not
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child == 0) {
    std::atomic<std::size_t> sum{0};
    parallel_for(100, 4, [&](std::size_t i, int) { sum += i; });
    ::_exit(sum == 4950 ? 0 : 1);
  }
  int status = 0;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(threads_default) {
  CHECK(default_threads() >= 1);
  ::setenv("SQE_FAST_THREADS", "3", 1);
  CHECK(default_threads() == 3);
  for (const char* wrong : {"0", "-1", "2x", "1025", "99999999999999999999"}) {
    ::setenv("SQE_FAST_THREADS", wrong, 1);
    CHECK(throws<InputError>([] { default_threads(); }));
  }
  ::unsetenv("SQE_FAST_THREADS");
}

}  // namespace
}  // namespace sqe::testing
