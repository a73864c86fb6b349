// Names that differ in one number and have one type: present_key_0 to present_key_11 are one line for a
// reader.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dyn {

struct NameFamily {
  std::string title;            // "present_key_0..11", or the one name
  std::vector<size_t> members;  // indices, ascending
};

// In the order of their first members. Of names and types; fewer than three names are no family.
std::vector<NameFamily> nameFamilies(const std::vector<std::pair<std::string, std::string>>& rows);

}  // namespace dyn
