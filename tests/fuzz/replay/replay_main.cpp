// Runs a fuzz target over the files of folders, over mutations of them, and over the empty input: libFuzzer's
// part in an ordinary build.
//
//   text_parser_fuzz [--mutations N] [--seconds S] tests/fuzz/corpus/text_parser
//
// N mutations, or as many as S seconds allow; which they are follows from a seed: 1, or what DYN_FUZZ_SEED
// says. The seed is printed before anything runs, and after mutation K of seed R comes mutation K+1 of it,
// however fast the machine is. A fault is the target's crash, a sanitizer's report, or an input that takes
// longer than kLongestInput; the input that did it is then the file <program>.last, which can be put into the
// corpus. A seed must be accepted, or refused where it lies in a folder `refused`: one of an old format would
// try nothing behind the reader.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/replay/fuzz_target.h"

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr size_t kLargestInput = 1 << 16;
constexpr unsigned kLongestInput = 60;  // seconds: sanitizers and busy machines are slow, a hang is for ever

// The input in hand, in a file that a crash leaves behind: mapped, so that keeping it costs no call.
class LastInput {
 public:
  explicit LastInput(std::string path) : path_(std::move(path)) {
    file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0 || ::ftruncate(file_, kLargestInput) != 0) return;
    void* memory = ::mmap(nullptr, kLargestInput, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
    if (memory != MAP_FAILED) memory_ = static_cast<uint8_t*>(memory);
  }
  ~LastInput() {
    if (memory_) ::munmap(memory_, kLargestInput);
    if (file_ >= 0) ::close(file_);
    ::unlink(path_.c_str());
  }
  LastInput(const LastInput&) = delete;
  // What follows the input in the file are zeros.
  bool run(const Bytes& input) {
    if (memory_) {
      const size_t size = std::min(input.size(), kLargestInput);
      if (size > 0) std::memcpy(memory_, input.data(), size);
      std::memset(memory_ + size, 0, std::max(size, lastSize_) - size);
      lastSize_ = size;
    }
    ::alarm(kLongestInput);  // ends the program; the input stays behind
    const bool accepted = dyn::fuzz::tryInput(input.data(), input.size());
    ::alarm(0);
    return accepted;
  }

 private:
  std::string path_;
  int file_ = -1;
  uint8_t* memory_ = nullptr;
  size_t lastSize_ = 0;
};

Bytes mutated(const std::vector<Bytes>& corpus, std::mt19937& random) {
  static const char* const kNumbers[] = {"0",
                                         "-1",
                                         "1",
                                         "255",
                                         "65536",
                                         "2147483648",
                                         "4294967295",
                                         "1099511627776",
                                         "9223372036854775807",
                                         "-9223372036854775808"};
  Bytes input = corpus[random() % corpus.size()];
  // Mostly one change: what is still nearly right gets further.
  for (uint32_t changes = random() % 3 ? 1 : 2 + random() % 3; changes > 0 && !input.empty(); --changes) {
    const auto at = static_cast<std::ptrdiff_t>(random() % input.size());
    const auto length =
        static_cast<std::ptrdiff_t>(std::min<size_t>(random() % 32, input.size() - static_cast<size_t>(at)));
    const auto begin = input.begin() + at;
    switch (random() % 7) {
      case 0:
        *begin ^= static_cast<uint8_t>(1u << random() % 8);
        break;
      case 1:
        *begin = static_cast<uint8_t>(random());
        break;
      case 2:
        input.erase(begin, begin + length);
        break;
      case 3: {
        const Bytes copy(begin, begin + length);
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(random() % input.size()), copy.begin(),
                     copy.end());
        break;
      }
      case 4: {
        const std::string number = kNumbers[random() % std::size(kNumbers)];
        auto end = begin;
        while (end != input.end() && *end >= '0' && *end <= '9') ++end;
        const auto place = input.erase(begin, end);
        input.insert(place, number.begin(), number.end());
        break;
      }
      case 5: {
        const Bytes& other = corpus[random() % corpus.size()];
        if (other.empty()) break;
        const size_t from = random() % other.size(),
                     count = std::min<size_t>(random() % 64, other.size() - from);
        input.insert(begin, other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(from + count));
        break;
      }
      default:
        std::fill(begin, begin + std::min<std::ptrdiff_t>(length, 8),
                  random() % 2 ? uint8_t{0xff} : uint8_t{0});
    }
  }
  if (input.size() > kLargestInput) input.resize(kLargestInput);
  return input;
}

struct Arguments {
  std::vector<fs::path> inputs;  // the files below all folders, sorted
  uint64_t mutationsCount = 0;
  std::chrono::seconds time{3600};
  uint32_t seed = 1;
};

Arguments readArguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--mutations" && i + 1 < argc) {
      arguments.mutationsCount = std::strtoull(argv[++i], nullptr, 10);
    } else if (word == "--seconds" && i + 1 < argc) {
      arguments.time = std::chrono::seconds(std::strtoul(argv[++i], nullptr, 10));
    } else if (fs::is_directory(word)) {
      for (const auto& entry : fs::recursive_directory_iterator(word))
        if (entry.is_regular_file()) arguments.inputs.push_back(entry.path());
    } else {
      std::fprintf(stderr, "%s is not a folder\n", word.c_str());
      std::exit(2);
    }
  }
  std::sort(arguments.inputs.begin(), arguments.inputs.end());
  if (const char* seed = std::getenv("DYN_FUZZ_SEED"))
    arguments.seed = static_cast<uint32_t>(std::strtoul(seed, nullptr, 10));
  return arguments;
}

}  // namespace

int main(int argc, char** argv) {
  const Arguments arguments = readArguments(argc, argv);
  if (arguments.inputs.empty()) {
    std::fprintf(stderr, "there is no corpus\n");
    return 2;
  }
  LastInput last(std::string(argv[0]) + ".last");
  last.run({});
  std::vector<Bytes> corpus;
  int wrong = 0;
  for (const fs::path& path : arguments.inputs) {
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const bool expected = path.parent_path().filename() != "refused";
    if (last.run(corpus.back()) == expected) continue;
    ++wrong;
    std::printf(expected
                    ? "  it is refused: make it again, or move it to the folder refused if it is meant so\n"
                    : "  it is accepted, although it lies in a folder refused\n");
  }
  if (wrong > 0) return 1;
  std::printf("mutations with DYN_FUZZ_SEED=%u; one that fails is left in %s.last\n", arguments.seed,
              argv[0]);
  std::fflush(stdout);
  std::mt19937 random(arguments.seed);
  const auto end = std::chrono::steady_clock::now() + arguments.time;
  uint64_t count = 0;
  for (; count < arguments.mutationsCount && std::chrono::steady_clock::now() < end; ++count)
    last.run(mutated(corpus, random));
  std::printf("%zu inputs, the empty one and %llu mutations replayed\n", corpus.size(),
              static_cast<unsigned long long>(count));
  return 0;
}
