// native_tests [WORD]: run the tests whose name holds WORD, or all.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "check.hpp"

int main(int argc, char** argv) {
  if (argc > 2 || (argc == 2 && argv[1][0] == '-')) {
    std::fprintf(stderr, "usage: %s [WORD]\n", argv[0]);
    return 2;
  }
  int ran = 0;
  for (const sqe::testing::Test& test : sqe::testing::tests()) {
    if (argc == 2 && !std::strstr(test.name, argv[1])) continue;
    std::printf("%-40s", test.name);
    std::fflush(stdout);
    const auto start = std::chrono::steady_clock::now();
    test.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    std::printf("%6.2f s\n", seconds.count());
    ++ran;
  }
  std::printf("%d passed, 0 failed\n", ran);
  return ran > 0 ? 0 : 1;
}
