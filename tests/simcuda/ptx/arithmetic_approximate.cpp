// Instructions that chips approximate: here they are right to half a unit in the last place of float, which
// no chip promises. A test compares them with a tolerance.
#include <cmath>

#include "tests/simcuda/ptx/define.h"

namespace simcuda {
namespace {

float flush(float v) { return std::fpclassify(v) == FP_SUBNORMAL ? std::copysign(0.0f, v) : v; }

// With .ftz denormal operands and results are zeros.
template <auto F>
void defineUnary(OpTable& t, const std::string& name) {
  define<[](float x) { return static_cast<float>(F(static_cast<double>(x))); }, float, float>(t,
                                                                                              name + ".f32");
  define<[](float x) { return flush(static_cast<float>(F(static_cast<double>(flush(x))))); }, float, float>(
      t, name + ".ftz.f32");
}

}  // namespace

void addApproximateOps(OpTable& t) {
  defineUnary<[](double x) { return std::exp2(x); }>(t, "ex2.approx");
  defineUnary<[](double x) { return std::log2(x); }>(t, "lg2.approx");
  defineUnary<[](double x) { return 1 / x; }>(t, "rcp.approx");
  defineUnary<[](double x) { return 1 / std::sqrt(x); }>(t, "rsqrt.approx");
  defineUnary<[](double x) { return std::sqrt(x); }>(t, "sqrt.approx");
  defineUnary<[](double x) { return std::sin(x); }>(t, "sin.approx");
  defineUnary<[](double x) { return std::cos(x); }>(t, "cos.approx");
  define<[](float x) { return static_cast<float>(std::tanh(static_cast<double>(x))); }, float, float>(
      t, "tanh.approx.f32");
  define<[](double x) { return 1 / std::sqrt(x); }, double, double>(t, "rsqrt.approx.f64");
  define<[](double x) { return 1 / x; }, double, double>(t, "rcp.approx.ftz.f64");
  for (const char* kind : {"div.approx", "div.full"}) {
    define<[](float x, float y) { return x / y; }, float, float, float>(t, std::string(kind) + ".f32");
    define<[](float x, float y) { return flush(flush(x) / flush(y)); }, float, float, float>(
        t, std::string(kind) + ".ftz.f32");
  }
}

}  // namespace simcuda
