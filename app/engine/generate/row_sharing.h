// May the sequences of a decoder be rows of one batch?
#pragma once

#include <string>

#include "app/engine/generate/decoder_ports.h"
#include "app/engine/model/loaded_model.h"

namespace dyn {

// Why not; "": rows along the batch are proved not to see each other.
std::string whyRowsRunAlone(LoadedModel& model, const DecoderPorts& ports);

}  // namespace dyn
