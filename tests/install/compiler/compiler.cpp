// The same in C++. compiler MODEL
#include <cstdio>
#include <dyn.hpp>

int main(int count, char** arguments) {
  dynapi::Model model(count > 1 ? arguments[1] : "");
  std::printf("%d\n", static_cast<int>(model.predict({{"n", 3}}).outputShape(0)[0]));
}
