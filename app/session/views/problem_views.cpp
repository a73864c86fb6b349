#include "app/session/views/problem_views.h"

namespace dyn {

const char* toString(CaseStatus status) {
  switch (status) {
    case CaseStatus::passed:
      return "passed";
    case CaseStatus::wrong:
      return "wrong";
    case CaseStatus::crashed:
      return "crashed";
    case CaseStatus::timeout:
      return "timeout";
    case CaseStatus::unsupported:
      return "unsupported";
    case CaseStatus::failed:
      return "failed";
  }
  return "?";
}

}  // namespace dyn
