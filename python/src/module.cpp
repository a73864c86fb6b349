// The extension dyn._dyn. Its callers are in dyn/, which has what people read.
#include "generator.h"
#include "model.h"
#include "program.h"
#include "runtime.h"
#include "server.h"
#include "thread_pool.h"

using namespace dynpython;

NB_MODULE(_dyn, module) {
  bindRuntime(module);
  module.def("abi_version", &dyn_library_abi_version);
  nb::class_<Model>(module, "Model")
      .def(nb::init<const std::optional<std::string>&, const std::optional<nb::bytes>&, const std::string&,
                    const Options&, nb::object>(),
           nb::arg("path").none(), nb::arg("bytes").none(), nb::arg("name"), nb::arg("options"),
           nb::arg("listener").none())
      .def_prop_ro("warnings", &Model::warnings)
      .def("ports", &Model::ports, nb::arg("input"))
      .def("compile", &Model::compile, nb::arg("threads"), nb::arg("memory_limit_bytes"),
           nb::arg("pool").none(), nb::rv_policy::take_ownership)
      .def("command", &Model::command, nb::arg("line"), nb::arg("as_text"))
      .def("cancel", &Model::cancel)
      .def("export", &Model::exportTo, nb::arg("kind"), nb::arg("path"), nb::arg("options"))
      .def("save", &Model::save, nb::arg("path"), nb::arg("options"))
      .def("predict", &Model::predict, nb::arg("dims"));
  nb::class_<Request>(module, "Request").def("cancel", &Request::cancel);
  nb::class_<Server>(module, "Server")
      .def(nb::init<int32_t, int32_t, int64_t, int64_t, int64_t, int32_t, int32_t, const ThreadPool*,
                    int32_t>(),
           nb::arg("batching"), nb::arg("max_batch"), nb::arg("max_wait_ns"), nb::arg("max_batch_time_ns"),
           nb::arg("memory_limit_bytes"), nb::arg("max_queue"), nb::arg("workers"), nb::arg("pool").none(),
           nb::arg("admission"))
      .def("add", &Server::add, nb::arg("model"))
      .def("joining", &Server::joining, nb::arg("model"))
      .def("admission", &Server::admission, nb::arg("model"))
      .def("submit", &Server::submit, nb::arg("model"), nb::arg("program"), nb::arg("inputs"),
           nb::arg("number"), nb::arg("client"), nb::arg("priority"), nb::arg("deadline_ns"),
           nb::rv_policy::take_ownership)
      .def("answers", &Server::answers)
      .def("shut_down", &Server::shutDown, nb::arg("how"))
      .def("statistics", &Server::statistics)
      .def("metrics", &Server::metrics);
  nb::class_<Generator>(module, "Generator")
      .def(
          "__init__",
          [](Generator* self, Model& model, const std::optional<std::string>& tokenizer, int32_t maxBatch,
             const std::vector<std::tuple<std::string, int32_t, std::vector<int64_t>, nb::bytes>>& inputs,
             const std::vector<std::string>& ports, int32_t promptLookup, int32_t prefillChunk) {
            std::vector<GivenInput> given;
            for (const auto& [name, dtype, shape, bytes] : inputs)
              given.push_back({name, dtype, shape, bytes});
            new (self) Generator(model, tokenizer, maxBatch, given, ports, promptLookup, prefillChunk);
          },
          nb::arg("model"), nb::arg("tokenizer").none(), nb::arg("max_batch"), nb::arg("inputs"),
          nb::arg("ports"), nb::arg("prompt_lookup"), nb::arg("prefill_chunk"))
      .def(
          "submit",
          [](Generator& self, const std::optional<std::string>& text, const std::vector<int64_t>& ids,
             int64_t maxNew, const std::vector<std::string>& stops, const std::vector<int64_t>& stopIds,
             bool ignoresEnd, double temperature, int64_t topK, double topP, double repetitionPenalty,
             uint64_t seed, uint64_t stream, int32_t beams, double lengthPenalty, bool stopsEarly,
             nb::object hook) {
            return self.submit(text, ids, maxNew, stops, stopIds,
                               {temperature, topP, repetitionPenalty, topK, seed, stream, ignoresEnd, beams,
                                lengthPenalty, stopsEarly},
                               std::move(hook));
          },
          nb::arg("text").none(), nb::arg("ids"), nb::arg("max_new"), nb::arg("stops"), nb::arg("stop_ids"),
          nb::arg("ignores_end_tokens"), nb::arg("temperature"), nb::arg("top_k"), nb::arg("top_p"),
          nb::arg("repetition_penalty"), nb::arg("seed"), nb::arg("stream"), nb::arg("beams"),
          nb::arg("length_penalty"), nb::arg("early_stopping"), nb::arg("hook").none())
      .def("next", &Generator::next)
      .def("cancel", &Generator::cancel, nb::arg("sequence"))
      .def("interrupt", &Generator::interrupt)
      .def("sharing", &Generator::sharing)
      .def("statistics", &Generator::statistics);
}
