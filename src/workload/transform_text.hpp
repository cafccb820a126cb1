// Settings of transforms as the command line has them.
#pragma once

#include <string>
#include <string_view>

#include "workload/transform.hpp"

namespace ductile {

// What follows throws InputError, which names `option` and the key.

/// "SHARE[:key=value,...]" with the keys min, max, model, rho, s, x, A, sigma, error_in, rho_error,
/// s_error, x_error, A_error, sigma_error, time_error, rho_reference, constraint, walltime_factor
/// and rigid.
AdaptiveShare parse_share(const std::string& option, std::string_view text);

/// The same with the keys count, expand, left, window, delta_max and overlap, which are written to
/// `requests`.
AdaptiveShare parse_evolving(const std::string& option, std::string_view text,
                             EvolvingSettings& requests);

/// "full|half|free[:key=value,...]" with the keys alpha, beta, b, sync, negotiation, overhead_mode,
/// data_gb, bandwidth_gb_s, error and error_in.
ReconfigurationSettings parse_reconfiguration(const std::string& option, std::string_view text);

/// "requested", "perfect", "f:F" or "menu".
EstimateSettings parse_estimates(const std::string& option, std::string_view text);

/// "compute:SHARE,memory:SHARE,mixed:SHARE", each once in any order; who is not named has none.
BoundShares parse_bounds(const std::string& option, std::string_view text);

/// "key=value,..." with the keys jobs, share and days.
FlurrySettings parse_flurry(const std::string& option, std::string_view text);

}  // namespace ductile
