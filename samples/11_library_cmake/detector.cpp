// A detector as a library of its own, from C++: how many boxes it finds depends on the picture.
#include <ssd.h>

#include <cstdlib>
#include <iostream>
#include <vector>

static void check(ssd_status status) {
  if (status == SSD_OK) return;
  std::cerr << ssd_last_error() << "\n";
  std::exit(1);
}

int main(int argc, char** argv) {
  const ssd_dims dims{argc > 1 ? std::atoll(argv[1]) : 64, argc > 2 ? std::atoll(argv[2]) : 48};
  std::vector<float> image(static_cast<size_t>(3 * dims.h * dims.w));
  for (size_t i = 0; i < image.size(); ++i) image[i] = static_cast<float>(i % 11) / 10;
  constexpr size_t kMost = 1000;  // as many boxes as there is room for; more would be an error
  std::vector<float> boxes(4 * kMost), scores(kMost);
  std::vector<int64_t> classes(kMost);

  ssd_model* model = nullptr;
  check(ssd_create(nullptr, &model));
  const ssd_inputs inputs{image.data()};
  const ssd_outputs outputs{{boxes.data(), boxes.size() * sizeof(float)},
                            {scores.data(), scores.size() * sizeof(float)},
                            {classes.data(), classes.size() * sizeof(int64_t)}};
  ssd_shapes shapes;
  check(ssd_run(model, &dims, &inputs, &outputs, &shapes));
  std::cout << shapes.scores[0] << " boxes\n";
  std::cout.precision(9);
  for (int64_t i = 0; i < shapes.scores[0]; ++i) std::cout << classes[i] << " " << scores[i] << "\n";
  ssd_release(model);
}
