// libcublasLt.so.13 of the simulated driver: the entry points that a program needs for one product, by the
// documentation of the library (CUDA 13): handle, descriptions, wishes, choice, product.
//
// DYN_SIMCUBLASLT_FAIL=cublasLtCreate:1 has that call end in that status. What runs on the device is counted
// with the driver's calls: DYN_SIMCUDA_FAIL=cublasLtMatmul:2.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "tests/simcuda/cublaslt/product.h"
#include "tests/simcuda/simcuda.h"

using namespace simcublaslt;

#define SIMCUBLASLT_ENTRY extern "C" __attribute__((visibility("default"))) int

namespace {

struct Handle {};

struct Choice {  // cublasLtMatmulHeuristicResult_t
  Algorithm algorithm;
  size_t workspaceBytes;
  int state;
  float waves;
  int reserved[4];
};

// The status that this call shall end in, or kSuccess.
int failureOf(const char* call) {
  const char* fails = std::getenv("DYN_SIMCUBLASLT_FAIL");
  const size_t length = std::strlen(call);
  const bool isThis = fails && std::strncmp(fails, call, length) == 0 && fails[length] == ':';
  return isThis ? std::atoi(fails + length + 1) : kSuccess;
}

// Attributes: number, bytes, place.
struct Attribute {
  int number;
  size_t bytes;
  void* place;
};
template <size_t kCount>
int set(const Attribute (&attributes)[kCount], int number, const void* value, size_t bytes) {
  for (const Attribute& attribute : attributes) {
    if (attribute.number != number) continue;
    if (!value || bytes != attribute.bytes) return kInvalidValue;
    std::memcpy(attribute.place, value, bytes);
    return kSuccess;
  }
  return kNotSupported;
}

bool isAligned(uint64_t address, uint64_t bytes) { return address % bytes == 0; }

}  // namespace

SIMCUBLASLT_ENTRY cublasLtCreate(Handle** handle) {
  if (const int status = failureOf("cublasLtCreate")) return status;
  *handle = new Handle;
  return kSuccess;
}
SIMCUBLASLT_ENTRY cublasLtDestroy(Handle* handle) {
  delete handle;
  return kSuccess;
}

SIMCUBLASLT_ENTRY cublasLtMatmulDescCreate(Description** description, int compute, int scale) {
  if (const int status = failureOf("cublasLtMatmulDescCreate")) return status;
  *description = new Description;
  (*description)->compute = compute;
  (*description)->scale = scale;
  return kSuccess;
}
SIMCUBLASLT_ENTRY cublasLtMatmulDescDestroy(Description* description) {
  delete description;
  return kSuccess;
}
SIMCUBLASLT_ENTRY cublasLtMatmulDescSetAttribute(Description* d, int attribute, const void* value,
                                                 size_t bytes) {
  const Attribute attributes[] = {
      {3, 4, &d->transposesA}, {4, 4, &d->transposesB}, {7, 4, &d->epilogue}, {8, 8, &d->bias}};
  return set(attributes, attribute, value, bytes);
}

SIMCUBLASLT_ENTRY cublasLtMatrixLayoutCreate(Matrix** matrix, int type, uint64_t rows, uint64_t columns,
                                             int64_t stride) {
  *matrix = new Matrix{type, rows, columns, stride};
  return kSuccess;
}
SIMCUBLASLT_ENTRY cublasLtMatrixLayoutDestroy(Matrix* matrix) {
  delete matrix;
  return kSuccess;
}
SIMCUBLASLT_ENTRY cublasLtMatrixLayoutSetAttribute(Matrix* m, int attribute, const void* value,
                                                   size_t bytes) {
  const Attribute attributes[] = {{5, 4, &m->count}, {6, 8, &m->matrixStride}};
  return set(attributes, attribute, value, bytes);
}

SIMCUBLASLT_ENTRY cublasLtMatmulPreferenceCreate(Wishes** wishes) {
  *wishes = new Wishes;
  return kSuccess;
}
SIMCUBLASLT_ENTRY cublasLtMatmulPreferenceDestroy(Wishes* wishes) {
  delete wishes;
  return kSuccess;
}
SIMCUBLASLT_ENTRY cublasLtMatmulPreferenceSetAttribute(Wishes* w, int attribute, const void* value,
                                                       size_t bytes) {
  const Attribute attributes[] = {{1, 8, &w->mostWorkspaceBytes}, {3, 4, &w->reductions},
                                  {5, 4, &w->alignments[0]},      {6, 4, &w->alignments[1]},
                                  {7, 4, &w->alignments[2]},      {8, 4, &w->alignments[3]}};
  return set(attributes, attribute, value, bytes);
}

SIMCUBLASLT_ENTRY cublasLtMatmulAlgoGetHeuristic(Handle* handle, Description* description, Matrix* a,
                                                 Matrix* b, Matrix*, Matrix* d, Wishes* wishes, int most,
                                                 Choice* choices, int* count) {
  *count = 0;
  if (const int status = failureOf("cublasLtMatmulAlgoGetHeuristic")) return status;
  if (!handle) return kNotInitialized;
  if (most < 1) return kInvalidValue;
  const Product product{*description, *a, *b, *d};
  choices[0] = {};
  if (const int status = product.choose(*wishes, choices[0].algorithm)) return status;
  choices[0].workspaceBytes = product.workspaceBytes(choices[0].algorithm);
  *count = 1;
  return kSuccess;
}

SIMCUBLASLT_ENTRY cublasLtMatmul(Handle* handle, Description* description, const void* alpha, uint64_t a,
                                 Matrix* layoutOfA, uint64_t b, Matrix* layoutOfB, const void* beta, uint64_t,
                                 Matrix*, uint64_t d, Matrix* layoutOfD, const Algorithm* algorithm,
                                 uint64_t workspace, size_t workspaceBytes, void* stream) {
  if (!handle) return kNotInitialized;
  float one = 0, zero = 1;
  std::memcpy(&one, alpha, sizeof one);
  std::memcpy(&zero, beta, sizeof zero);
  if (one != 1 || zero != 0 || !algorithm) return kNotSupported;
  auto call = std::make_unique<Call>();
  call->product = {*description, *layoutOfA, *layoutOfB, *layoutOfD};
  call->algorithm = *algorithm;
  call->a = a;
  call->b = b;
  call->d = d;
  call->workspace = workspace;
  const Product& p = call->product;
  if (const int status = p.check()) return status;
  const uint64_t needed = p.workspaceBytes(*algorithm);
  if (needed > workspaceBytes || (needed > 0 && !isAligned(workspace, 256))) return kInvalidValue;
  if (!isAligned(a, algorithm->alignments[0]) || !isAligned(b, algorithm->alignments[1]) ||
      !isAligned(d, algorithm->alignments[3]))
    return kInvalidValue;
  std::vector<dyn_simcuda_buffer> touched = {{a, a + bytesOf(p.a), DYN_SIMCUDA_INPUT},
                                             {b, b + bytesOf(p.b), DYN_SIMCUDA_INPUT},
                                             {d, d + bytesOf(p.d), DYN_SIMCUDA_OUTPUT}};
  if (needed > 0) touched.push_back({workspace, workspace + needed, DYN_SIMCUDA_INPUT_OUTPUT});
  if (p.description.epilogue == kAddBias) {
    const Matrix bias{p.d.type, p.m(), 1, static_cast<int64_t>(p.m())};
    touched.push_back({p.description.bias, p.description.bias + bytesOf(bias), DYN_SIMCUDA_INPUT});
  }
  const std::string name = "product " + std::to_string(p.m()) + "x" + std::to_string(p.n()) + "x" +
                           std::to_string(p.k()) + " of " + std::to_string(p.d.count) +
                           (needed > 0 ? " with a workspace" : "");
  dyn_simcuda_command_t command{};
  command.call = "cublasLtMatmul";
  command.name = name.c_str();
  command.touched = touched.data();
  command.count = touched.size();
  command.run = [](void* state) { return run(*static_cast<Call*>(state)); };
  command.release = [](void* state) { delete static_cast<Call*>(state); };
  command.state = call.release();
  return dyn_simcuda_command(stream, &command) == 0 ? kSuccess : kExecutionFailed;
}
