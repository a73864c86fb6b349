// A text module of layers of twenty operations each, with the names that exporters give them.
#pragma once

#include <string>

namespace dyn::test {

inline std::string layeredModel(int operations) {
  static const char* const unary[] = {"relu", "tanh", "exp", "sigmoid"};
  std::string text = "fn @main(%x: Tensor[(n, 16), f32], %w: Tensor[(16, 16), f32]) {\n", before = "%x";
  int made = 0;
  for (int layer = 0; made < operations; ++layer) {
    const std::string path = "/encoder/layer." + std::to_string(layer) + "/", input = before;
    for (int op = 0; op < 20 && made < operations; ++op, ++made) {
      const std::string name =
          "%\"" + path + (op < 10 ? "attention/" : "output/") + "op" + std::to_string(op) + "\"";
      text += "  " + name + " = ";
      if (op % 10 == 3)
        text += "matmul(" + before + ", %w)\n";
      else if (op % 10 == 9)
        text += "add(" + before + ", " + input + ")\n";
      else if (op % 10 == 6)
        text += "softmax(" + before + ", axis = -1)\n";
      else
        text += std::string(unary[op % 4]) + "(" + before + ")\n";
      before = name;
    }
  }
  return text + "  return " + before + "\n}\n";
}

}  // namespace dyn::test
