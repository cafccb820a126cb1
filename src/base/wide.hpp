// Whole numbers of 128 bits: they hold the product of any two of 64.
#pragma once

namespace ductile {

__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

}  // namespace ductile
