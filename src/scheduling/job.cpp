#include "scheduling/job.hpp"

namespace ductile {

JobTable::JobTable(const JobTable& other) : size_(other.size_) {
  pages_.reserve(other.pages_.size());
  for (const auto& page : other.pages_) {
    pages_.push_back(page ? std::make_unique<Page>(*page) : nullptr);
  }
}

JobTable& JobTable::operator=(const JobTable& other) {
  if (this != &other) *this = JobTable(other);
  return *this;
}

JobId JobTable::add() {
  if (size_ % kPage == 0) pages_.push_back(std::make_unique<Page>());
  return JobId{size_++};
}

void JobTable::retire(JobId id) {
  auto& page = pages_[index(id) / kPage];
  if (++page->over == kPage) page.reset();
}

}  // namespace ductile
