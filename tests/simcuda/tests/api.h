// api.h — the simulated driver as a program finds it: opened by name, every entry point by dlsym.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/simcuda/simcuda.h"

using DevicePointer = unsigned long long;

class Api {
 public:
  Api() : library_(dlopen(SIMCUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) ADD_FAILURE() << dlerror();
  }
  template <class... A>
  int call(const char* name, A... arguments) {
    auto* f = reinterpret_cast<int (*)(A...)>(dlsym(library_, name));
    if (!f) {
      ADD_FAILURE() << "no entry point " << name;
      return -1;
    }
    return f(arguments...);
  }
  void* symbol(const char* name) { return dlsym(library_, name); }
  std::string fault() { return reinterpret_cast<const char* (*)()>(symbol("dyn_simcuda_fault"))(); }
  dyn_simcuda_counters_t counters() {
    dyn_simcuda_counters_t result;
    reinterpret_cast<void (*)(dyn_simcuda_counters_t*)>(symbol("dyn_simcuda_counters"))(&result);
    return result;
  }
  void reset() { reinterpret_cast<void (*)()>(symbol("dyn_simcuda_reset"))(); }

 private:
  void* library_;
};

inline std::string readText(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string kernelText(const std::string& name) {
  return readText(std::string(SIMCUDA_KERNELS) + "/" + name + ".ptx");
}

struct Shape {
  unsigned gridX, blockX, gridY = 1, blockY = 1, shared = 0;
};

// A device whose driver is new for each test; options are the environment's.
class DriverTest : public testing::Test {
 protected:
  void SetUp() override { begin({}); }
  void TearDown() override {
    for (auto& [name, value] : options_) unsetenv(name.c_str());
    api().reset();
  }

  static Api& api() {
    static Api api;
    return api;
  }
  void begin(const std::map<std::string, std::string>& options) {
    for (auto& [name, value] : options_) unsetenv(name.c_str());
    options_ = options;
    for (auto& [name, value] : options) setenv(name.c_str(), value.c_str(), 1);
    api().reset();
    void* context = nullptr;
    ASSERT_EQ(api().call("cuInit", 0u), 0);
    ASSERT_EQ(api().call("cuDevicePrimaryCtxRetain", &context, 0), 0);
    ASSERT_EQ(api().call("cuCtxSetCurrent", context), 0);
  }
  DevicePointer allocate(size_t bytes) {
    DevicePointer p = 0;
    EXPECT_EQ(api().call("cuMemAlloc_v2", &p, bytes), 0) << api().fault();
    return p;
  }
  template <class T>
  DevicePointer upload(const std::vector<T>& values) {
    DevicePointer p = allocate(values.size() * sizeof(T));
    EXPECT_EQ(
        api().call("cuMemcpyHtoD_v2", p, static_cast<const void*>(values.data()), values.size() * sizeof(T)),
        0);
    return p;
  }
  template <class T>
  std::vector<T> download(DevicePointer from, size_t count) {
    std::vector<T> values(count);
    status_ = api().call("cuMemcpyDtoH_v2", static_cast<void*>(values.data()), from, count * sizeof(T));
    return values;
  }
  void* load(const std::string& text, const std::string& kernel) {
    void *module = nullptr, *function = nullptr;
    int status = api().call("cuModuleLoadData", &module, static_cast<const void*>(text.c_str()));
    EXPECT_EQ(status, 0) << api().fault();
    if (status == 0) {
      EXPECT_EQ(api().call("cuModuleGetFunction", &function, module, kernel.c_str()), 0);
    }
    return function;
  }
  template <class... A>
  int launch(void* function, Shape shape, void* stream, A... arguments) {
    void* pointers[] = {static_cast<void*>(&arguments)..., nullptr};
    return api().call("cuLaunchKernel", function, shape.gridX, shape.gridY, 1u, shape.blockX, shape.blockY,
                      1u, shape.shared, stream, static_cast<void**>(pointers), static_cast<void**>(nullptr));
  }
  // Launches, waits, and gives the code of the whole.
  template <class... A>
  int run(void* function, Shape shape, A... arguments) {
    int status = launch(function, shape, static_cast<void*>(nullptr), arguments...);
    return status ? status : api().call("cuCtxSynchronize");
  }

  int status_ = 0;  // of the last download

 private:
  std::map<std::string, std::string> options_;
};
