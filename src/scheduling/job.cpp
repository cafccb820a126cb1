#include "scheduling/job.hpp"

#include <new>

namespace ductile {

JobTable::JobTable(const JobTable& other) : size_(other.size_) {
  pages_.reserve(other.pages_.size());
  for (const auto& page : other.pages_) {
    pages_.push_back(page ? std::make_unique<Page>(*page) : nullptr);
  }
}

JobTable::JobTable(std::uint32_t size) : size_(size), pages_((size + kPage - 1) / kPage) {
  if (size % kPage == 0) return;
  pages_.back() = page_of_the_past();
  pages_.back()->over = size % kPage;
}

std::unique_ptr<JobTable::Page> JobTable::page_of_the_past() {
  auto page = std::make_unique<Page>();
  for (Job& job : page->jobs) job.status = Status::over;
  page->over = kPage;
  return page;
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
  ::new (static_cast<void*>(&job)) Job;  // `construct_at` would zero all of it first
  return id;
}

Job& JobTable::revive(JobId id) {
  auto& page = pages_[index(id) / kPage];
  if (!page) page = page_of_the_past();
  --page->over;
  Job& job = (*this)[id];
  job.status = Status::pending;
  return job;
}

void JobTable::retire(JobId id) {
  auto& page = pages_[index(id) / kPage];
  if (++page->over == kPage) spare_ = std::move(page);
}

}  // namespace ductile
