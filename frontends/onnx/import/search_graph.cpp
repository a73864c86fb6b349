#include "frontends/onnx/import/search_graph.h"

#include <algorithm>
#include <iterator>

namespace dyn::onnx {

bool isSearchOperator(std::string_view domain, std::string_view name) {
  return domain == "com.microsoft" && (name == "GreedySearch" || name == "BeamSearch");
}

namespace {

constexpr Text kStepDomain = "dyn.search";

int64_t integerOf(const NodeProto& node, Text name, int64_t otherwise) {
  const AttributeProto* attribute = node.attribute(name);
  return attribute == nullptr ? otherwise : attribute->i;
}

const GraphProto* graphOf(const NodeProto& node, Text name) {
  const AttributeProto* attribute = node.attribute(name);
  return attribute == nullptr || attribute->graphs().empty() ? nullptr : &attribute->graphs()[0];
}

// A decoder's cache: [2, rows, heads, positions, size] for keys and values, or one [rows, heads, positions,
// size] for each behind an encoder.
struct Cache {
  Text past, present;
  int64_t heads = 0, size = 0;
  int32_t elementType = 0;
};

class SearchWriter {
 public:
  SearchWriter(const NodeProto& node, std::vector<OperatorSetId> opsets)
      : node_(node),
        isBeam_(node.opType == "BeamSearch"),
        encoder_(integerOf(node, "model_type", 0) == 1 ? graphOf(node, "encoder") : nullptr),
        graph_(std::make_shared<WrittenGraph>()) {
    graph_->opsets = std::move(opsets);
    graph_->opsets.push_back({kStepDomain, 1});
  }

  Result<std::shared_ptr<WrittenGraph>> write() {
    DYN_CHECK(check());
    nodes_ = &graph_->nodeLists.emplace_back();
    takeInputs();
    const GraphProto& decoder = *graphOf(node_, "decoder");
    if (encoder_ != nullptr) {
      DYN_CHECK(encode(decoder));
    } else {
      DYN_CHECK(begin(decoder));
    }
    loop(decoder, Text());
    end();
    finish();
    return std::move(graph_);
  }

 private:
  // The caches before the loop; of a decoder of its own for the first step, that step too.
  Status begin(const GraphProto& decoder) {
    const GraphProto* first = graphOf(node_, "init_decoder");
    DYN_TRY(state_.caches, cachesOf(first != nullptr ? *first : decoder));
    startCaches();
    if (first == nullptr) return {};
    loop(*first, one(1));
    DYN_TRY(std::vector<Cache> caches, cachesOf(decoder));
    if (caches.size() != state_.caches.size())
      return refuse("its two graphs have " + std::to_string(state_.caches.size()) + " and " +
                    std::to_string(caches.size()) + " caches");
    state_.caches = std::move(caches);
    return {};
  }

  using Attributes = std::vector<AttributeProto>;

  // Names, in the graph that is being written, of what goes from one step to the next.
  struct State {
    Text ids, places, mask, next, sequences, go;
    Text ended;                            // of a greedy search
    Text scores, texts, textScores, done;  // of beams
    std::vector<Text> pasts;
    std::vector<Cache> caches;
  };

  Error refuse(const std::string& what) const {
    return makeError(DiagnosticId::unsupportedFeature, std::string(node_.opType) + ": " + what);
  }

  Status check() const {
    const int64_t type = integerOf(node_, "model_type", 0);
    if (type != 0 && !(type == 1 && isBeam_))
      return refuse("a decoder of model_type " + std::to_string(type) + " is not supported");
    if (type == 1 && encoder_ == nullptr)
      return makeError(DiagnosticId::badAttribute,
                       "attribute \"encoder\" with the encoder's graph is missing");
    if (graphOf(node_, "decoder") == nullptr)
      return makeError(DiagnosticId::badAttribute,
                       "attribute \"decoder\" with the decoder's graph is missing");
    if (node_.inputs.size() < (isBeam_ ? 5u : 2u) || input(0).empty() || input(1).empty())
      return makeError(DiagnosticId::badOperands,
                       isBeam_ ? "it needs input_ids, max_length, num_beams and num_return_sequences"
                               : "it needs input_ids and max_length");
    if (isBeam_ && node_.outputs.size() > 2 && !node_.outputs[2].empty())
      return refuse("the scores of all words at each step are not supported");
    if (isBeam_ && !input(10).empty())
      return refuse("decoder_input_ids, which is for Whisper, is not supported");
    if (isBeam_ && !input(11).empty())
      return refuse("a logits_processor, which is for Whisper, is not supported");
    for (const AttributeProto& attribute : node_.attributes) {
      static constexpr Text kKnown[] = {
          "decoder",      "encoder",    "init_decoder",         "model_type",     "eos_token_id",
          "pad_token_id", "vocab_size", "no_repeat_ngram_size", "early_stopping", "decoder_start_token_id"};
      if (std::find(std::begin(kKnown), std::end(kKnown), attribute.name) == std::end(kKnown))
        return refuse("attribute \"" + std::string(attribute.name) + "\" is not supported");
    }
    return {};
  }

  Result<std::vector<Cache>> cachesOf(const GraphProto& decoder) const {
    static constexpr Text kFirst[] = {"input_ids", "position_ids", "attention_mask"};
    if (decoder.inputs.size() < 4 || decoder.outputs.size() + 2 != decoder.inputs.size())
      return refuse(
          "its decoder has " + std::to_string(decoder.inputs.size()) + " inputs and " +
          std::to_string(decoder.outputs.size()) +
          " outputs, where input_ids, position_ids, attention_mask and a cache for each layer are taken, and "
          "logits and the caches are given");
    for (size_t i = 0; i != 3; ++i)
      if (decoder.inputs[i].name != kFirst[i])
        return refuse("input " + std::to_string(i) + " of its decoder is " +
                      std::string(decoder.inputs[i].name) + ", where " + std::string(kFirst[i]) +
                      " is taken");
    std::vector<Cache> caches;
    for (size_t i = 3; i != decoder.inputs.size(); ++i) {
      DYN_TRY(const Cache cache, cacheOf(decoder.inputs[i], decoder.outputs[i - 2].name, 5));
      caches.push_back(cache);
    }
    return caches;
  }

  // Declared with this rank and a number of heads and sizes.
  Result<Cache> cacheOf(const ValueInfoProto& past, Text present, size_t rank) const {
    const std::span<const Dimension> shape =
        past.type == nullptr ? std::span<const Dimension>() : past.type->shape;
    const auto number = [&](size_t axis) {
      return shape[axis].kind == Dimension::Kind::value ? shape[axis].value : 0;
    };
    if (shape.size() != rank || number(rank - 3) < 1 || number(rank - 1) < 1)
      return refuse("the cache " + std::string(past.name) + " of its decoder is not declared as [" +
                    (rank == 5 ? "2, " : "") +
                    "rows, heads, positions, size] with numbers of heads and sizes");
    return Cache{past.name, present, number(rank - 3), number(rank - 1), past.type->elementType};
  }

  Text input(size_t i) const {
    return i < node_.inputs.size() && !node_.inputs[i].empty() ? inputName(i) : Text();
  }
  // The inputs of the function have names of their own.
  static Text inputName(size_t i) {
    static constexpr Text kNames[] = {"search/input_0", "search/input_1",  "search/input_2",
                                      "search/input_3", "search/input_4",  "search/input_5",
                                      "search/input_6", "search/input_7",  "search/input_8",
                                      "search/input_9", "search/input_10", "search/input_11"};
    return i < std::size(kNames) ? kNames[i] : Text();
  }

  // "search/Beams_7"
  Text fresh(Text what = "value") {
    return graph_->names.emplace_back("search/" + std::string(what) + "_" +
                                      std::to_string(graph_->names.size()));
  }
  std::span<const Text> list(std::vector<Text> names) { return graph_->list(std::move(names)); }

  static AttributeProto number(Text name, int64_t value) {
    AttributeProto attribute = attributeOf(name, AttributeType::integer);
    attribute.i = value;
    return attribute;
  }
  static AttributeProto text(Text name, Text value) {
    AttributeProto attribute = attributeOf(name, AttributeType::text);
    attribute.s = value;
    return attribute;
  }
  void addNode(Text domain, Text op, std::vector<Text> inputs, std::vector<Text> outputs,
               Attributes attributes) {
    nodes_->push_back(
        graph_->node(node_, domain, op, std::move(inputs), std::move(outputs), std::move(attributes)));
  }
  // Operator of search_steps.cpp.
  std::vector<Text> step(Text op, size_t results, std::vector<Text> inputs, Attributes attributes = {}) {
    std::vector<Text> outputs;
    for (size_t i = 0; i != results; ++i) outputs.push_back(fresh(op));
    addNode(kStepDomain, op, std::move(inputs), outputs, std::move(attributes));
    return outputs;
  }
  Text one(Text op, std::vector<Text> inputs, Attributes attributes = {}) {
    return step(op, 1, std::move(inputs), std::move(attributes))[0];
  }
  Text one(int64_t value) {
    const Text name = fresh("number");
    addNode({}, "Constant", {}, {name}, {number("value_int", value)});
    return name;
  }

  AttributeProto pad() const { return number("pad", integerOf(node_, "pad_token_id", -1)); }
  AttributeProto eos() const { return number("end", integerOf(node_, "eos_token_id", -1)); }
  Text maskInput() const { return input(isBeam_ ? 9 : 6); }

  void takeInputs() {
    most_ = one("Number", {inputName(1)});
    beams_ = isBeam_ ? one("Number", {inputName(3)}) : one(1);
    if (encoder_ != nullptr) {
      prompt_ = one("StartToken", {inputName(0), beams_, most_},
                    {number("start", integerOf(node_, "decoder_start_token_id", -1))});
      state_.ids = state_.sequences = prompt_;
    } else {
      const Text mask = maskInput().empty() ? one("Mask", {inputName(0)}, {pad()}) : maskInput();
      const std::vector<Text> start =
          step("Start", 4, {inputName(0), mask, beams_, most_},
               {text("what", isBeam_ ? "BeamSearch: max_length" : "GreedySearch: max_length"), pad()});
      prompt_ = start[0];
      state_.ids = state_.sequences = start[0];
      state_.places = start[1];
      state_.mask = start[2];
      state_.next = start[3];
    }
    const size_t penalty = isBeam_ ? 6 : 3;
    if (!input(penalty).empty()) repetition_ = one("Real", {input(penalty)});
    if (!input(2).empty()) least_ = one("Number", {input(2)});
    wordMask_ = input(penalty + 1);
    if (!input(penalty + 2).empty()) firstMask_ = rows(input(penalty + 2), 2);
    if (isBeam_) {
      returned_ = one("Number", {inputName(4)});
      lengthPenalty_ = one("Real", {input(5).empty() ? one(1) : input(5)});
      const std::vector<Text> beams = step("BeamBegin", 4, {inputName(0), beams_, most_}, {pad()});
      state_.scores = beams[0];
      state_.texts = beams[1];
      state_.textScores = beams[2];
      state_.done = beams[3];
    } else {
      state_.ended = one("GreedyBegin", {inputName(0)});
    }
  }

  // Of a decoder without an encoder, keys and values stand in one cache.
  Attributes sizesOf(const Cache& cache) const {
    static constexpr int64_t kTwo[] = {2};
    return {attributeOf("before", AttributeType::integers, kTwo, encoder_ == nullptr ? 1 : 0),
            number("heads", cache.heads), number("size", cache.size)};
  }
  void startCaches() {
    for (const Cache& cache : state_.caches) {
      Attributes attributes = sizesOf(cache);
      attributes.push_back(number("to", cache.elementType));
      state_.pasts.push_back(one("Cache", {prompt_}, std::move(attributes)));
    }
  }

  // x [batch, ...] of this rank for each beam.
  Text rows(Text x, size_t rank) {
    static constexpr int64_t kAxes[] = {1, 2, 3};
    return one("Rows", {x, beams_}, {attributeOf("rest", AttributeType::integers, kAxes, rank - 1)});
  }

  // The encoder's nodes, and what of its results the decoder takes. An encoder with a third input, the
  // decoder's first word, gives the first logits and caches too.
  Status encode(const GraphProto& decoder) {
    const auto named = [](std::span<const ValueInfoProto> values, size_t i, Text name) {
      return i < values.size() && values[i].name == name;
    };
    const size_t inputs = decoder.inputs.size(), written = decoder.outputs.size() - 1;
    const bool takesHidden = named(decoder.inputs, 2, "encoder_hidden_states");
    const size_t firstCache = takesHidden ? 3 : 2;
    if (!named(decoder.inputs, 0, "input_ids") || !named(decoder.inputs, 1, "encoder_attention_mask") ||
        decoder.outputs.empty() || written == 0 || inputs != firstCache + 2 * written)
      return refuse(
          "its decoder takes other inputs than input_ids, encoder_attention_mask, maybe "
          "encoder_hidden_states, and the caches of what was written and of what was read");
    const bool isFirst = encoder_->inputs.size() == 3;
    if (!named(encoder_->inputs, 0, "encoder_input_ids") ||
        !named(encoder_->inputs, 1, "encoder_attention_mask") ||
        (isFirst ? !named(encoder_->inputs, 2, "decoder_input_ids") : encoder_->inputs.size() != 2) ||
        encoder_->outputs.size() != (isFirst ? 2 + 2 * written : written) || (!isFirst && takesHidden))
      return refuse("its encoder has other inputs or outputs than its decoder needs");
    for (size_t i = firstCache; i != firstCache + written; ++i) {
      DYN_TRY(const Cache cache, cacheOf(decoder.inputs[i], decoder.outputs[i + 1 - firstCache].name, 4));
      state_.caches.push_back(cache);
    }

    const Text mask = maskInput().empty() ? one("EncoderMask", {inputName(0)}, {pad()}) : maskInput();
    addNode({}, "Identity", {inputName(0)}, {encoder_->inputs[0].name}, {});
    addNode({}, "Identity", {mask}, {encoder_->inputs[1].name}, {});
    if (isFirst) {
      const Text first = one("FirstToken", {inputName(0)},
                             {number("start", integerOf(node_, "decoder_start_token_id", -1))});
      addNode({}, "Identity", {first}, {encoder_->inputs[2].name}, {});
    }
    if (!encoder_->sparseInitializers.empty())
      return refuse("sparse weights of its encoder are not supported");
    for (const TensorProto& weight : encoder_->initializers)
      addNode({}, "Constant", {}, {weight.name}, {attributeOf("value", AttributeType::tensor, &weight, 1)});
    nodes_->insert(nodes_->end(), encoder_->nodes.begin(), encoder_->nodes.end());

    encoderMask_ = rows(mask, 2);
    const std::span<const ValueInfoProto> results = encoder_->outputs;
    if (takesHidden) hidden_ = rows(results[1].name, 3);
    for (size_t i = results.size() - written; i != results.size(); ++i)
      read_.push_back(rows(results[i].name, 4));
    if (isFirst) {
      std::vector<Text> presents;
      for (size_t i = 0; i != written; ++i) presents.push_back(rows(results[2 + i].name, 4));
      advance(rows(results[0].name, 3), std::move(presents), state_);
      if (takesWholeText(decoder)) state_.ids = state_.sequences;
    } else {
      startCaches();
    }
    return {};
  }

  std::vector<Text*> carried(State& state) const {
    std::vector<Text*> all = {&state.ids, &state.sequences};
    if (encoder_ == nullptr) all.insert(all.end(), {&state.places, &state.mask, &state.next});
    if (isBeam_)
      all.insert(all.end(), {&state.scores, &state.texts, &state.textScores, &state.done});
    else
      all.push_back(&state.ended);
    for (Text& past : state.pasts) all.push_back(&past);
    return all;
  }

  // Steps by this decoder: `trips`, or as many as there is room for.
  void loop(const GraphProto& decoder, Text trips) {
    State inside = state_;
    std::vector<NodeProto>* around = nodes_;
    nodes_ = &graph_->nodeLists.emplace_back(decoder.nodes.begin(), decoder.nodes.end());
    std::vector<Text> inputs = {fresh(), fresh()};
    for (Text* name : carried(inside)) {
      *name = fresh();
      inputs.push_back(*name);
    }
    nameInside(decoder, inside);
    std::vector<Text> presents;
    for (const Cache& cache : inside.caches) presents.push_back(cache.present);
    advance(decoder.outputs[0].name, std::move(presents), inside);
    if (encoder_ != nullptr && takesWholeText(decoder)) inside.ids = inside.sequences;
    std::vector<Text> outputs = {inside.go};
    for (const Text* name : carried(inside)) outputs.push_back(*name);

    GraphProto& body = graph_->graphs.emplace_back(decoder);
    body.nodes = *nodes_;
    body.inputs = graph_->values(node_, inputs);
    body.outputs = graph_->values(node_, outputs);
    nodes_ = around;
    if (trips.empty()) trips = one("Room", {state_.sequences, most_});
    std::vector<Text> operands = {trips, state_.go}, results;
    for (Text* name : carried(state_)) {
      operands.push_back(*name);
      *name = fresh();
      results.push_back(*name);
    }
    addNode({}, "Loop", std::move(operands), std::move(results),
            {attributeOf("body", AttributeType::graph, &body, 1)});
    state_.go = openOf(state_);
  }
  Text openOf(const State& state) { return one("Open", {isBeam_ ? state.done : state.ended}); }

  // In the body: what is carried, with its sizes, by the decoder's names.
  void nameInside(const GraphProto& decoder, State& state) {
    const auto bind = [&](Text name, Text& value) {
      addNode({}, "Identity", {value}, {name}, {});
      value = name;
    };
    const Text first = state.pasts[0];
    for (size_t i = 0; i != state.pasts.size(); ++i) {
      const Cache& cache = state.caches[i];
      state.pasts[i] = one("InsideCache", {state.pasts[i], first, prompt_}, sizesOf(cache));
      bind(cache.past, state.pasts[i]);
    }
    if (encoder_ != nullptr) {
      state.ids = one("InsideText", {state.ids, prompt_});
      bindEncoded(decoder);
    } else {
      const std::vector<Text> sized =
          step("Inside", 4, {state.ids, state.places, state.mask, state.next, first, prompt_});
      state.ids = sized[0];
      state.places = sized[1];
      state.mask = sized[2];
      state.next = sized[3];
      bind(decoder.inputs[1].name, state.places);
      bind(decoder.inputs[2].name, state.mask);
    }
    bind(decoder.inputs[0].name, state.ids);
    state.sequences = one("InsideText", {state.sequences, prompt_});
    if (isBeam_) {
      const std::vector<Text> sized =
          step("InsideBeams", 4,
               {state.scores, state.texts, state.textScores, state.done, inputName(0), beams_, most_});
      state.scores = sized[0];
      state.texts = sized[1];
      state.textScores = sized[2];
      state.done = sized[3];
    } else {
      state.ended = one("InsideEnded", {state.ended, prompt_});
    }
  }

  // What a step takes of the encoder, by the decoder's names.
  void bindEncoded(const GraphProto& decoder) {
    const auto bind = [&](size_t i, Text value) {
      addNode({}, "Identity", {value}, {decoder.inputs[i].name}, {});
    };
    bind(1, encoderMask_);
    if (!hidden_.empty()) bind(2, hidden_);
    // The last inputs, as many as there are caches of what was written before them.
    const size_t firstRead = decoder.inputs.size() - read_.size();
    for (size_t i = 0; i != read_.size(); ++i) bind(firstRead + i, read_[i]);
  }
  // As onnxruntime has it: the last word alone where that is what is declared.
  static bool takesWholeText(const GraphProto& decoder) {
    const TypeProto* type = decoder.inputs[0].type;
    return type == nullptr || type->shape.size() != 2 || type->shape[1].kind != Dimension::Kind::value ||
           type->shape[1].value != 1;
  }

  void end() {
    if (isBeam_)
      graph_->function.outputs = list(step("BeamEnd", 2,
                                           {state_.sequences, state_.scores, state_.texts, state_.textScores,
                                            state_.done, lengthPenalty_, returned_},
                                           {pad()}));
    else
      graph_->function.outputs = list({one("GreedyEnd", {state_.sequences, most_}, {pad()})});
  }

  void finish() {
    FunctionProto& function = graph_->function;
    function.bytes = node_.bytes;
    function.name = node_.opType;
    function.domain = kStepDomain;
    std::vector<Text> inputs;
    for (size_t i = 0; i != node_.inputs.size(); ++i) inputs.push_back(inputName(i));
    function.inputs = list(std::move(inputs));
    function.nodes = *nodes_;
    function.opsetImports = graph_->opsets;
  }

  // One step: `state` becomes that of the next.
  void advance(Text logits, std::vector<Text> presents, State& state) {
    const int64_t words = integerOf(node_, "vocab_size", 0);
    Text scores = words > 0 ? one("Last", {logits, one(words)}) : one("Last", {logits});
    if (isBeam_) scores = one("LogSoftmax", {scores});
    if (!repetition_.empty()) scores = one("RepetitionPenalty", {scores, state.sequences, repetition_});
    if (const int64_t size = integerOf(node_, "no_repeat_ngram_size", 0); size > 0)
      scores = one("NoRepeatNGram", {scores, state.sequences}, {number("size", size)});
    if (!wordMask_.empty()) scores = one("Words", {scores, wordMask_});
    if (!firstMask_.empty()) scores = one("FirstWords", {scores, firstMask_, state.sequences, prompt_});
    if (!least_.empty()) scores = one("LeastLength", {scores, state.sequences, least_}, {eos()});

    Text mask = state.mask;
    if (isBeam_) {
      const std::vector<Text> r = step(
          "Beams", 7,
          {scores, state.sequences, state.scores, state.texts, state.textScores, state.done, lengthPenalty_},
          {eos(), pad(), number("early", integerOf(node_, "early_stopping", 0))});
      state.ids = r[0];
      state.sequences = r[1];
      state.scores = r[3];
      state.texts = r[4];
      state.textScores = r[5];
      state.done = r[6];
      if (!mask.empty()) mask = one("PickRows", {mask, r[2]});
      for (Text& present : presents)
        present = one(encoder_ != nullptr ? "PickRows" : "Pick", {present, r[2]});
    } else {
      const std::vector<Text> r = step("Greedy", 3, {scores, state.sequences, state.ended}, {eos(), pad()});
      state.ids = r[0];
      state.sequences = r[1];
      state.ended = r[2];
    }
    state.go = openOf(state);
    state.pasts = std::move(presents);
    if (encoder_ != nullptr) return;
    state.mask = one("Longer", {mask});
    state.places = state.next;
    state.next = one("Next", {state.next});
  }

  const NodeProto& node_;
  const bool isBeam_;
  const GraphProto* encoder_;  // null: the decoder reads the prompt itself
  std::shared_ptr<WrittenGraph> graph_;
  std::vector<NodeProto>* nodes_ = nullptr;  // of the graph that is being written
  State state_;
  Text encoderMask_, hidden_;
  std::vector<Text> read_;  // the caches of what the encoder read
  Text prompt_, most_, beams_, returned_, lengthPenalty_, repetition_, least_, wordMask_, firstMask_;
};

}  // namespace

Result<std::shared_ptr<WrittenGraph>> searchGraph(const NodeProto& node, std::vector<OperatorSetId> opsets) {
  return SearchWriter(node, std::move(opsets)).write();
}

}  // namespace dyn::onnx
