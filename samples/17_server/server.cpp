// The same as server.c in C++:   server bert.onnx
#include <cstdio>
#include <exception>
#include <vector>

#include "dyn.hpp"

int main(int argumentCount, char** arguments) try {
  dyn_server_policy policy{};
  policy.batching = DYN_BATCHING_ON;
  policy.max_batch = 8;
  dynapi::Server server(policy);
  const int32_t bert = server.add(dynapi::Model(argumentCount > 1 ? arguments[1] : ""));
  std::printf("requests are joined %s\n", server.joining(bert).c_str());
  std::vector<dynapi::Request> requests;
  for (int64_t length = 40; length < 64; ++length) {
    const std::vector<int64_t> ids(static_cast<size_t>(length), 7), ones(static_cast<size_t>(length), 1);
    std::vector<dynapi::Value> inputs;
    inputs.push_back(server.tensor(bert, DYN_I64, {1, length}, ids.data()));
    inputs.push_back(server.tensor(bert, DYN_I64, {1, length}, ones.data()));
    requests.push_back(server.submit(bert, inputs));
  }
  for (size_t i = 0; i < requests.size(); ++i)
    if (requests[i].output(0).shape()[1] != static_cast<int64_t>(40 + i)) return 1;
  const dyn_server_statistics said = server.statistics();
  std::printf("%d requests in %d runs\n", static_cast<int>(said.completed_count),
              static_cast<int>(said.runs_count));
} catch (const std::exception& fault) {
  std::fprintf(stderr, "%s\n", fault.what());
  return 1;
}
