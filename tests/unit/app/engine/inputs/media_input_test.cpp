// Inputs from pictures, sound and text: what reaches the model, and what is said of files that do not fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/engine/inputs/vocabulary.h"
#include "app/engine/inputs/wave_file.h"
#include "app/engine/run/run_result.h"
#include "app/pictures/picture.h"
#include "tests/support/session_fixture.h"

namespace dyn {
namespace {

using testing::HasSubstr;

// Four by two pixels: red, green, blue, white; yellow, grey, dark blue, yellow.
constexpr std::string_view kPixels(
    "\xff\x00\x00\x00\xff\x00\x00\x00\xff\xff\xff\xff"
    "\xff\xff\x00\x80\x80\x80\x0a\x14\x1e\xff\xff\x00",
    24);
#ifdef DYN_HAVE_PNG
constexpr std::string_view kPng(
    "\x89\x50\x4e\x47\x0d\x0a\x1a\x0a\x00\x00\x00\x0d\x49\x48\x44\x52\x00\x00\x00\x04\x00\x00\x00\x02"
    "\x08\x02\x00\x00\x00\xf0\xca\xea\x34\x00\x00\x00\x1f\x49\x44\x41\x54\x08\xd7\x05\xc1\xb1\x01\x00"
    "\x10\x00\xc0\xb0\x30\x9a\xed\x5e\xe5\xf2\x4a\x84\x50\x35\xe5\xbe\xbb\xf6\x61\x7c\x83\xe2\x08\xbb"
    "\xdf\xb1\x43\xcd\x00\x00\x00\x00\x49\x45\x4e\x44\xae\x42\x60\x82",
    88);
#endif
#ifdef DYN_HAVE_JPEG
constexpr std::string_view kJpeg(
    "\xff\xd8\xff\xe0\x00\x10\x4a\x46\x49\x46\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xdb\x00\x43"
    "\x00\x03\x02\x02\x03\x02\x02\x03\x03\x03\x03\x04\x03\x03\x04\x05\x08\x05\x05\x04\x04\x05\x0a\x07"
    "\x07\x06\x08\x0c\x0a\x0c\x0c\x0b\x0a\x0b\x0b\x0d\x0e\x12\x10\x0d\x0e\x11\x0e\x0b\x0b\x10\x16\x10"
    "\x11\x13\x14\x15\x15\x15\x0c\x0f\x17\x18\x16\x14\x18\x12\x14\x15\x14\xff\xdb\x00\x43\x01\x03\x04"
    "\x04\x05\x04\x05\x09\x05\x05\x09\x14\x0d\x0b\x0d\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14"
    "\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14"
    "\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\x14\xff\xc0\x00\x11\x08\x00\x10\x00\x10\x03"
    "\x01\x11\x00\x02\x11\x01\x03\x11\x01\xff\xc4\x00\x16\x00\x01\x01\x01\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x07\x08\xff\xc4\x00\x18\x10\x00\x02\x03\x00\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x15\x01\x52\x62\xff\xc4\x00\x16\x01\x01\x01\x01\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x08\x04\xff\xc4\x00\x16\x11\x00\x03\x00\x00\x00\x00\x00\x00"
    "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x16\x62\xff\xda\x00\x0c\x03\x01\x00\x02\x11\x03\x11\x00\x3f"
    "\x00\xcb\x0f\x62\xc6\x64\xb9\x2f\x86\xea\x0f\x62\xc1\x2e\x43\x75\x13\xc7\xba\x2f\x34\xb9\x22\xc6"
    "\xea\x0f\x74\x12\xe4\x37\x51\xff\xd9",
    321);  // 16 x 16, red at the top to blue at the bottom
#endif

std::string ppm() { return "P6 # a comment\n4 2 255\n" + std::string(kPixels); }

std::string little(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i, value >>= 8) bytes += static_cast<char>(value & 255);
  return bytes;
}

// Rows from the bottom, blue first, each padded to four bytes.
std::string bmp() {
  std::string bytes = "BM" + little(54 + 2 * 12, 4) + little(0, 4) + little(54, 4) + little(40, 4) +
                      little(4, 4) + little(2, 4) + little(1, 2) + little(24, 2) + little(0, 24);
  for (const size_t row : {1, 0})
    for (size_t x = 0; x < 4; ++x)
      for (const size_t c : {2, 1, 0}) bytes += kPixels[row * 12 + x * 3 + c];
  return bytes;
}

std::string wav(uint64_t encoding, uint64_t channels, uint64_t bits, const std::string& data) {
  const std::string format = little(encoding, 2) + little(channels, 2) + little(8000, 4) +
                             little(8000 * channels * bits / 8, 4) + little(channels * bits / 8, 2) +
                             little(bits, 2);
  return "RIFF" + little(36 + data.size(), 4) + "WAVEJUNK" + little(3, 4) + "abc" + std::string(1, 0) +
         "fmt " + little(16, 4) + format + "data" + little(data.size(), 4) + data;
}

class MediaInputTest : public test::SessionFixture {
 protected:
  MediaInputTest() {
    session_.setListener([this](const Event& event) {
      if (event.kind == EventKind::log) said_ += event.text + "\n";
    });
  }
  // What the model gets of `spec` for an input of this type, as numbers.
  std::vector<double> given(const std::string& type, const std::string& spec) {
    said_.clear();
    values_.clear();
    fault_.clear();
    if (!loadText("fn @main(%x: Tensor[" + type + "]) {\n  return %x\n}\n")->ok()) return {};
    auto outcome = line(":run --input \"x=" + spec + "\"");
    if (!outcome->ok()) {
      fault_ = outcome->error->toString();
      for (const std::string& note : outcome->error->notes) fault_ += "\n" + note;
      return {};
    }
    const HostTensor& tensor = outcome->as<RunResult>()->outputs[0].value.tensor();
    shape_ = tensor.shape();
    for (int64_t i = 0; i < tensor.elementCount(); ++i) values_.push_back(tensor.realAt(i));
    return values_;
  }
  std::string said_, fault_;
  std::vector<int64_t> shape_;
  std::vector<double> values_;
};

TEST_F(MediaInputTest, PicturesOfAllKindsAreTheSamePixels) {
  const Result<Picture> plain = readPicture(folder_.write("a.ppm", ppm()));
  ASSERT_TRUE(plain.ok()) << plain.error().toString();
  EXPECT_EQ(plain->width, 4);
  EXPECT_EQ(plain->height, 2);
  EXPECT_EQ(std::string(plain->bytes.begin(), plain->bytes.end()), kPixels);
  const Result<Picture> windows = readPicture(folder_.write("a.bmp", bmp()));
  ASSERT_TRUE(windows.ok()) << windows.error().toString();
  EXPECT_EQ(windows->bytes, plain->bytes);
#ifdef DYN_HAVE_PNG
  const Result<Picture> png = readPicture(folder_.write("a.png", kPng));
  ASSERT_TRUE(png.ok()) << png.error().toString();
  EXPECT_EQ(png->bytes, plain->bytes);
#else
  EXPECT_THAT(readPicture(folder_.write("a.png", "\x89PNG")).error().message, HasSubstr("unsupported"));
#endif
}

#ifdef DYN_HAVE_JPEG
TEST_F(MediaInputTest, JpegsAreReadAndDamagedOnesRefused) {
  const Result<Picture> picture = readPicture(folder_.write("a.jpg", kJpeg));
  ASSERT_TRUE(picture.ok()) << picture.error().toString();
  ASSERT_EQ(picture->width, 16);
  ASSERT_EQ(picture->channels, 3);
  const uint8_t *top = picture->bytes.data(), *bottom = top + picture->bytes.size() - 3;
  EXPECT_GT(top[0], 220);
  EXPECT_LT(top[2], 40);
  EXPECT_LT(bottom[0], 40);
  EXPECT_GT(bottom[2], 220);
  for (size_t cut = 0; cut < kJpeg.size(); cut += 7) {
    const Result<Picture> damaged = readPicture(folder_.write("b.jpg", kJpeg.substr(0, cut)));
    if (cut < 300) {
      EXPECT_FALSE(damaged.ok()) << cut;
    }
  }
}
#endif

TEST_F(MediaInputTest, DamagedPicturesAreErrors) {
  for (const std::string& whole : {ppm(), bmp()})
    for (size_t cut = 0; cut < whole.size(); ++cut)
      EXPECT_FALSE(readPicture(folder_.write("cut", whole.substr(0, cut))).ok()) << cut;
#ifdef DYN_HAVE_PNG
  for (size_t cut = 0; cut < kPng.size() - 14; ++cut)
    EXPECT_FALSE(readPicture(folder_.write("cut", kPng.substr(0, cut))).ok()) << cut;
#endif
  EXPECT_FALSE(readPicture(folder_.write("wide", "P6 99999999 99999999 255\n")).ok()) << "no memory for it";
}

TEST_F(MediaInputTest, APictureTakesTheAxesOfTheInput) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const std::string file = folder_.write("x.ppm", ppm());
  std::vector<double> x = given("(1, 3, h, w), f32", "@" + file);
  ASSERT_EQ(shape_, (std::vector<int64_t>{1, 3, 2, 4})) << fault_;
  EXPECT_EQ(x[0], 1) << "red of red";
  EXPECT_EQ(x[1], 0);
  EXPECT_NEAR(x[6], 10 / 255., 1e-6);
  EXPECT_THAT(said_, HasSubstr("4 x 2 pixels, red first, channels in front"));
  x = given("(1, h, w, 3), f32", "@" + file + ",scale=1,bgr");
  ASSERT_EQ(shape_, (std::vector<int64_t>{1, 2, 4, 3})) << fault_;
  EXPECT_THAT(std::vector<double>(x.begin(), x.begin() + 3), testing::ElementsAre(0, 0, 255)) << "blue first";
  x = given("(h, w), u8", "@" + file);
  EXPECT_THAT(x, testing::ElementsAre(76, 150, 29, 255, 226, 128, 18, 226)) << "luma; " << fault_;
  x = given("(3, h, w), f32", "@" + file + ",mean=0.5/0.25/0,std=0.5/1/2");
  ASSERT_EQ(x.size(), 24u) << fault_;
  EXPECT_EQ(x[0], 1);
  EXPECT_EQ(x[8], -0.25);
  EXPECT_EQ(x[16 + 2], 0.5);
  given("(1, 3, 4, 2), f32", "@" + file);
  EXPECT_THAT(fault_, HasSubstr(",resize")) << "the way out is said";
  x = given("(1, 3, 4, 2), f32", "@" + file + ",resize");
  EXPECT_EQ(shape_, (std::vector<int64_t>{1, 3, 4, 2})) << fault_;
  given("(1, 3, h, w), f32", "@" + file + ",resize=6x10");
  EXPECT_EQ(shape_, (std::vector<int64_t>{1, 3, 6, 10})) << fault_;
  for (const char* wrong : {",nonsense", ",scale=0", ",resize=0x4", ",std=0", ",mean=a"}) {
    given("(1, 3, h, w), f32", "@" + file + wrong);
    EXPECT_THAT(fault_, HasSubstr("not an option")) << wrong;
  }
  given("(1, 7, h, w), f32", "@" + file);
  EXPECT_THAT(fault_, HasSubstr("7 channels"));
  given("(n), f32", "@" + file);
  EXPECT_THAT(fault_, HasSubstr("2, 3 or 4 axes"));
  given("(h, w), bool", "@" + file);
  EXPECT_THAT(fault_, HasSubstr("no picture can be that"));
}

TEST(Picture, AResizedOneHoldsTheMeansOfWhatItCovers) {
  Picture picture{4, 2, 1, {0, 0, 100, 100, 0, 0, 100, 100}};
  EXPECT_THAT(resized(picture, 2, 4).bytes, testing::ElementsAreArray(picture.bytes));
  const Picture small = resized(picture, 1, 2);
  EXPECT_EQ(small.bytes.size(), 2u);
  EXPECT_LT(small.bytes[0], 30);
  EXPECT_GT(small.bytes[1], 70);
  const Picture flat = resized(Picture{3, 3, 1, std::vector<uint8_t>(9, 77)}, 7, 5);
  EXPECT_THAT(flat.bytes, testing::Each(77));
}

TEST_F(MediaInputTest, SoundOfAllEncodings) {
  const auto read = [&](const std::string& bytes) {
    Result<Wave> wave = readWave(folder_.write("x.wav", bytes));
    EXPECT_TRUE(wave.ok()) << wave.error().toString();
    return wave.ok() ? wave->samples : std::vector<float>();
  };
  EXPECT_THAT(read(wav(1, 1, 8, {'\x80', '\x00', '\xc0'})), testing::ElementsAre(0, -1, 0.5));
  EXPECT_THAT(read(wav(1, 1, 16, little(0, 2) + little(0x8000, 2) + little(0x4000, 2))),
              testing::ElementsAre(0, -1, 0.5));
  EXPECT_THAT(read(wav(1, 1, 24, little(0x800000, 3) + little(0x400000, 3))), testing::ElementsAre(-1, 0.5));
  EXPECT_THAT(read(wav(1, 1, 32, little(0x80000000, 4) + little(0x20000000, 4))),
              testing::ElementsAre(-1, 0.25));
  EXPECT_THAT(read(wav(3, 1, 32, little(0x3f000000, 4))), testing::ElementsAre(0.5));
  EXPECT_THAT(read(wav(3, 1, 64, little(0x3fe0000000000000, 8))), testing::ElementsAre(0.5));
  EXPECT_FALSE(readWave(folder_.write("x.wav", wav(2, 1, 4, "abcd"))).ok()) << "compressed";
  const std::string whole = wav(1, 2, 16, little(1, 2) + little(2, 2));
  for (size_t cut = 0; cut + 4 < whole.size(); ++cut) {
    const Result<Wave> damaged = readWave(folder_.write("x.wav", whole.substr(0, cut)));
    if (damaged.ok()) {
      EXPECT_LT(damaged->samples.size(), 2u) << cut;
    }
  }
}

TEST_F(MediaInputTest, SoundLiesAlongTheLastAxis) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const std::string file = folder_.write(
      "x.wav", wav(1, 2, 16, little(0x4000, 2) + little(0, 2) + little(0, 2) + little(0xC000, 2)));
  EXPECT_THAT(given("(n), f32", "@" + file), testing::ElementsAre(0.25, -0.25)) << fault_;
  EXPECT_THAT(said_, HasSubstr("2 channels mixed to one"));
  EXPECT_THAT(given("(1, 2, n), f32", "@" + file), testing::ElementsAre(0.5, 0, 0, -0.5)) << fault_;
  EXPECT_EQ(shape_, (std::vector<int64_t>{1, 2, 2}));
  given("(n), f32", "@" + file + ",rate=16000");
  EXPECT_THAT(fault_, HasSubstr("it is not resampled"));
  EXPECT_EQ(given("(n), f32", "@" + file + ",rate=8000").size(), 2u) << fault_;
}

TEST_F(MediaInputTest, TextByWordPieces) {
  const std::string file = folder_.write(
      "vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nshape\n##s\nare\nopen\n.\ncafe\n\u4eac\n##pen\r\n");
  const Result<Vocabulary> words = Vocabulary::read(file);
  ASSERT_TRUE(words.ok()) << words.error().toString();
  EXPECT_THAT(*words->idsOf("Shapes are  open."), testing::ElementsAre(2, 4, 5, 6, 7, 8, 3));
  EXPECT_THAT(*words->idsOf("CAF\u00c9 cafe\u0301 zz"), testing::ElementsAre(2, 9, 9, 1, 3))
      << "accents fall";
  EXPECT_THAT(*words->idsOf("open\u4eacopen"), testing::ElementsAre(2, 7, 10, 7, 3))
      << "an ideograph is a word";
  EXPECT_THAT(*words->idsOf(std::string(101, 'x')), testing::ElementsAre(2, 1, 3));
  EXPECT_THAT(*words->idsOf(""), testing::ElementsAre(2, 3));
  // With capitals among its pieces it keeps those of the text.
  const Result<Vocabulary> cased = Vocabulary::read(folder_.write("cased.txt", "[UNK]\nOpen\nopen\n"));
  EXPECT_THAT(*cased->idsOf("Open open OPEN"), testing::ElementsAre(1, 2, 0));
  EXPECT_FALSE(Vocabulary::read(folder_.write("none.txt", "a\nb\n")).ok());
  if (!canRun()) return;
  EXPECT_THAT(given("(batch, seq), i64", "text:" + file + ":shape: open"),
              testing::ElementsAre(2, 4, 1, 7, 3))
      << fault_;
  EXPECT_EQ(shape_, (std::vector<int64_t>{1, 5}));
  EXPECT_THAT(said_, HasSubstr("5 word pieces"));
  given("(n), f32", "text:" + file + ":open");
  EXPECT_THAT(fault_, HasSubstr("no text can be that"));
  given("(n), i64", "text:open");
  EXPECT_THAT(fault_, HasSubstr("names no vocabulary"));
}

#ifdef DYN_HAVE_TOKENIZER
TEST_F(MediaInputTest, TextByATokenizer) {
  if (!canRun()) GTEST_SKIP() << "no code generation";
  const std::string file = folder_.write("tokenizer.json", R"({
    "normalizer": {"type": "Lowercase"}, "pre_tokenizer": {"type": "Whitespace"},
    "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
    "model": {"type": "WordLevel", "unk_token": "[UNK]",
              "vocab": {"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "shapes": 3, "open": 4}}})");
  EXPECT_THAT(given("(batch, seq), i64", "text:" + file + ":Shapes: open"),
              testing::ElementsAre(1, 3, 0, 4, 2))
      << fault_;
  EXPECT_EQ(shape_, (std::vector<int64_t>{1, 5}));
  EXPECT_THAT(said_, HasSubstr("5 tokens of " + file));
  given("(n), i64", "text:" + folder_.write("bad_tokenizer.json", "{}") + ":open");
  EXPECT_THAT(fault_, HasSubstr("bad_tokenizer.json"));
  given("(n), i64", "text:absent/tokenizer.json:open");
  EXPECT_THAT(fault_, HasSubstr("absent/tokenizer.json"));
}
#endif

TEST_F(MediaInputTest, TextByBytePairs) {
  folder_.write("merges.txt", "#version: 0.2\na b\n\u0120 ab\nc c\n");
  const std::string file = folder_.write(
      "vocab.json",
      R"({"a": 0, "b": 1, "ab": 2, "\u0120": 3, "\u0120ab": 4, "c": 5, "cc": 6, "\u00c3": 7, "\u00a9": 8, "'": 9, "s": 10, "'s": 11, "1": 12})");
  const Result<Vocabulary> words = Vocabulary::read(file);
  ASSERT_TRUE(words.ok()) << words.error().toString();
  EXPECT_THAT(*words->idsOf("ab ab"), testing::ElementsAre(2, 4));
  EXPECT_THAT(*words->idsOf("ccc"), testing::ElementsAre(6, 5)) << "from the left";
  EXPECT_THAT(*words->idsOf("\u00e9"), testing::ElementsAre(7, 8)) << "by bytes";
  EXPECT_THAT(*words->idsOf("ab's1ab  ab"), testing::ElementsAre(2, 9, 10, 12, 2, 3, 4));
  EXPECT_FALSE(words->idsOf("z").ok()) << "no number";
  EXPECT_FALSE(Vocabulary::read(folder_.write("list.json", "[1]")).ok());
}

}  // namespace
}  // namespace dyn
