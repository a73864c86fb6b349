// What each <name>_fuzz.cpp defines. libfuzzer_entry.cpp calls it for libFuzzer, replay_main.cpp in an
// ordinary build.
#pragma once

#include <cstddef>
#include <cstdint>

namespace dyn::fuzz {

// Reads the bytes and uses what they say. Whether they were accepted: false where the reader refused them, so
// that nothing behind it ran. Mutations may be refused, a seed of the corpus may not.
bool tryInput(const uint8_t* data, size_t sizeBytes);

}  // namespace dyn::fuzz
