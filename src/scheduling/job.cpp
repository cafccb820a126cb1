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
  const JobId id{size_++};
  if (index(id) % kPage == 0) {
    if (!spare_) spare_ = std::make_unique<Page>();
    spare_->over = 0;
    pages_.push_back(std::move(spare_));
  }
  Job& job = (*this)[id];  // may have been another one's before
  std::destroy_at(&job);
  std::construct_at(&job);
  return id;
}

void JobTable::retire(JobId id) {
  auto& page = pages_[index(id) / kPage];
  if (++page->over == kPage) spare_ = std::move(page);
}

}  // namespace ductile
