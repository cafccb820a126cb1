#include "workload/archive.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ductile {
namespace {

constexpr std::array<ArchivedLog, 41> kLogs = {{
    {"NASA-iPSC-1993-3.1-cln", "l_nasa_ipsc", 1'678'956, 0x1171ac5aaf0fcb5d},
    {"LANL-CM5-1994-4.1-cln", "l_lanl_cm5"},
    {"SDSC-Par-1995-3.1-cln", "l_sdsc_par"},
    {"SDSC-Par-1996-3.1-cln", "l_sdsc_par"},
    {"CTC-SP2-1995-2", "l_ctc_sp2"},
    {"CTC-SP2-1996-3.1-cln", "l_ctc_sp2"},
    {"LLNL-T3D-1996-2", "l_llnl_t3d"},
    {"KTH-SP2-1996-2", "l_kth_sp2"},
    {"KTH-SP2-1996-2.1-cln", "l_kth_sp2"},
    {"SDSC-SP2-1998-4.2-cln", "l_sdsc_sp2"},
    {"LANL-O2K-1999-2", "l_lanl_o2k"},
    {"OSC-Clust-2000-3.1-cln", "l_osc"},
    {"SDSC-BLUE-2000-4.2-cln", "l_sdsc_blue"},
    {"Sandia-Ross-2001-1.1-cln", "l_sandia_ross"},
    {"HPC2N-2002-2.2-cln", "l_hpc2n", 19'242'100, 0x7284e808f2bac94a},
    {"DAS2-fs0-2003-1", "l_das2"},
    {"DAS2-fs1-2003-1", "l_das2"},
    {"DAS2-fs2-2003-1", "l_das2"},
    {"DAS2-fs3-2003-1", "l_das2"},
    {"DAS2-fs4-2003-1", "l_das2"},
    {"SDSC-DS-2004-2.1-cln", "l_sdsc_ds"},
    {"LPC-EGEE-2004-1.2-cln", "l_lpc"},
    {"LCG-2005-1", "l_lcg"},
    {"SHARCNET-2005-2", "l_sharcnet"},
    {"SHARCNET-Whale-2006-2", "l_sharcnet"},
    {"LLNL-uBGL-2006-2", "l_llnl_ubgl"},
    {"LLNL-Atlas-2006-2.1-cln", "l_llnl_atlas", 4'059'977, 0xf217cde03950458a},
    {"LLNL-Thunder-2007-1.1-cln", "l_llnl_thunder"},
    {"CIEMAT-Euler-2008-1", "l_ciemat_euler"},
    {"ANL-Intrepid-2009-1", "l_anl_int"},
    {"METACENTRUM-2009-2", "l_metacentrum"},
    {"PIK-IPLEX-2009-1", "l_pik_iplex"},
    {"RICC-2010-2", "l_ricc", 42'432'598, 0x2270411dcd6ab4b5},
    {"CEA-Curie-2011-2.1-cln", "l_cea_curie", 29'099'943, 0x6ace62cef49ca45d},
    {"Intel-NetbatchA-2012-1", "l_intel_netbatch"},
    {"Intel-NetbatchB-2012-1", "l_intel_netbatch"},
    {"Intel-NetbatchC-2012-1", "l_intel_netbatch"},
    {"Intel-NetbatchD-2012-1", "l_intel_netbatch"},
    {"METACENTRUM-2013-3", "l_metacentrum2"},
    {"UniLu-Gaia-2014-2", "l_unilu_gaia"},
    {"KIT-FH2-2016-1", "l_kit_fh2"},
}};

bool begins_with(std::string_view text, std::string_view begin) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return text.size() >= begin.size() &&
         std::ranges::equal(text.substr(0, begin.size()), begin, {}, lower, lower);
}

std::vector<std::string_view> names_of(std::string_view begin) {
  std::vector<std::string_view> names;
  for (const ArchivedLog& log : kLogs) {
    if (begins_with(log.name, begin)) names.push_back(log.name);
  }
  return names;
}

}  // namespace

std::span<const ArchivedLog> archived_logs() { return kLogs; }

const ArchivedLog& archived_log(std::string_view name) {
  const std::vector<std::string_view> names = names_of(name);
  for (const ArchivedLog& log : kLogs) {
    const bool is_whole = begins_with(log.name, name) && log.name.size() == name.size();
    if (is_whole || (names.size() == 1 && names.front() == log.name)) return log;
  }
  if (names.empty()) {
    throw InputError(fmt::format("no log is known as '{}'", printable(name)),
                     "there are " + listed(names_of("")) + "; or give --url");
  }
  throw InputError(fmt::format("several logs begin with '{}'", printable(name)),
                   "there are " + listed(names));
}

std::string url_of(const ArchivedLog& log, std::string_view root) {
  return fmt::format("{}{}/{}.swf.gz", root, log.folder, log.name);
}

}  // namespace ductile
