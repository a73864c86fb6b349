// The same as first.c in C++:   first bert.onnx
#include <cstdio>
#include <exception>
#include <vector>

#include "dyn.hpp"

int main(int argumentCount, char** arguments) try {
  dynapi::Model model(argumentCount > 1 ? arguments[1] : "");
  const dynapi::Prediction before = model.predict({{"batch", 1}, {"seq", 128}});
  std::printf("a run with 128 positions will take %lld bytes\n", static_cast<long long>(before.peakBytes()));
  const dynapi::Module module = model.compile();
  dynapi::Context context(module);
  for (int64_t length : {8, 32, 128}) {
    const std::vector<int64_t> ids(static_cast<size_t>(length), 0), ones(static_cast<size_t>(length), 1);
    context.set("input_ids", dynapi::Value::tensor(context, DYN_I64, {1, length}, ids.data()));
    context.set("attention_mask", dynapi::Value::tensor(context, DYN_I64, {1, length}, ones.data()));
    context.run();
    std::printf("%d positions: %d numbers each\n", static_cast<int>(length),
                static_cast<int>(context.output(0).shape()[2]));
  }
  std::fputs(model.commandText("why last_hidden_state.1").c_str(), stdout);
} catch (const std::exception& fault) {
  std::fprintf(stderr, "%s\n", fault.what());
  return 1;
}
