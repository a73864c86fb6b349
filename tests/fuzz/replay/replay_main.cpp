// Runs a fuzz target over the files of folders, over mutations of them, and over the empty input: libFuzzer's part in an ordinary build.
//
//   text_parser_fuzz [--mutations N] tests/fuzz/corpus/text_parser
//
// Mutations are the same in every run. A fault is the target's crash or a sanitizer's report; the input that did it is then the file
// <program>.last, which can be put into the corpus.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
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

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t sizeBytes);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<uint8_t>;

constexpr size_t kLargestInput = 1 << 16;

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
  void run(const Bytes& input) {
    if (memory_) {
      const size_t size = std::min(input.size(), kLargestInput);
      if (size > 0) std::memcpy(memory_, input.data(), size);
      std::memset(memory_ + size, 0, std::max(size, lastSize_) - size);
      lastSize_ = size;
    }
    LLVMFuzzerTestOneInput(input.data(), input.size());
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

}  // namespace

int main(int argc, char** argv) {
  std::vector<fs::path> paths;
  long mutations = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--mutations" && i + 1 < argc) mutations = std::atol(argv[++i]);
    if (!fs::is_directory(argv[i])) continue;  // no corpus yet
    for (const auto& entry : fs::directory_iterator(argv[i]))
      if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  LastInput last(std::string(argv[0]) + ".last");
  last.run({});
  std::vector<Bytes> corpus;
  for (const fs::path& path : paths) {
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    last.run(corpus.back());
  }
  std::mt19937 random(1);
  for (long i = 0; i < mutations && !corpus.empty(); ++i) last.run(mutated(corpus, random));
  std::printf("%zu inputs, the empty one and %ld mutations replayed\n", corpus.size(),
              corpus.empty() ? 0 : mutations);
  return 0;
}
