// Every barrier and wait of the kernels is needed: who deletes one from the text gets a fault at some size.
#include <gtest/gtest.h>

#include "tests/simcuda/tests/api.h"

namespace {

class Mutants : public DriverTest {
 protected:
  // Runs the kernel at some sizes; the first fault, or "".
  std::string firstFault(const std::string& name, const std::string& text) {
    for (int n : {16, 40, 300}) {
      begin({{"DYN_SIMCUDA_SEED", std::to_string(n)}});
      void* f = load(text, name);
      std::vector<float> values(64 * n, 1.0f);
      DevicePointer a = upload(values), b = upload(values), c = allocate(values.size() * 4);
      int status;
      if (name == "matmul") {
        status = run(f, {(n + 15) / 16u, 16, 1, 16}, a, b, c, 16, n, n % 64);
      } else if (name == "softmax") {
        status = run(f, {2, 128}, a, c, n);
      } else {
        status = run(f, {1, 32}, a, b, c, n / 16 * 16);
      }
      if (status) return std::to_string(status) + " " + api().fault();
    }
    return "";
  }
};

TEST_F(Mutants, every_barrier_and_wait_is_needed) {
  int count = 0;
  for (const char* name : {"matmul", "softmax", "mma"}) {
    std::string text = kernelText(name);
    ASSERT_EQ(firstFault(name, text), "") << name;
    for (const char* what : {"bar.sync", "bar.warp.sync", "cp.async.wait_group", "cp.async.commit_group"}) {
      for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) {
        size_t end = text.find(';', at);
        std::string mutant = text.substr(0, at) + text.substr(end + 1);
        EXPECT_NE(firstFault(name, mutant), "")
            << name << " without '" << text.substr(at, end - at) << "' at " << at;
        count++;
      }
    }
  }
  EXPECT_EQ(count, 11);
}

}  // namespace
