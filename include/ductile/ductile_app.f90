! Malleable MPI programs in Fortran: what <ductile/app.h> offers, whose words say what each function
! does. A source, as files of modules are each compiler's own: compile it with the program, and link
! libductile-app of the program's MPI.
!
!   mpifort.mpich ductile_app.f90 mine.f90 -lductile-app-mpich
!
! It uses no module of MPI, so the program may `use mpi`, `use mpi_f08` or include mpif.h.
!
!   is_joining = ductile_init() == DUCTILE_JOINING
!   comm = ductile_comm()                          ! of mpi_f08: comm%MPI_VAL = ductile_comm()
!   ... allocate ...
!   ierr = ductile_add_replicated("step", ductile_data(step))
!   ierr = ductile_add_block("u", ductile_data(u), n, halo = 1)
!   ierr = ductile_join()
!   do while (step < steps)
!     if (ductile_must_leave()) exit
!     ...
!   end do
!   ierr = ductile_finalize()
!
! What is registered is a `target` and contiguous. Of an array of several dimensions it is the last one that
! is distributed; an element is all that the others hold. Functions return DUCTILE_ERROR after a wrong call.
! docs/guide/malleable-mpi.md is the guide.
module ductile_app
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64
  implicit none
  private

  integer, parameter, public :: DUCTILE_ERROR = -1
  integer, parameter, public :: DUCTILE_FRESH = 0, DUCTILE_JOINING = 1                    ! ductile_init()
  integer, parameter, public :: DUCTILE_NONE = 0, DUCTILE_ADAPT_NOW = 1                   ! ductile_probe()
  integer, parameter, public :: DUCTILE_STAY = 0, DUCTILE_LEAVE = 1                       ! ductile_adapt()
  integer, parameter, public :: DUCTILE_STDIN_EMPTY = 0, DUCTILE_STDIN_AGAIN = 1          ! ductile_stdin()

  ! DUCTILE_APP_VERSION of the header that this is made for.
  integer(c_int), parameter :: version = 1

  ! Where a variable or an array lies, and how large it is: what ductile_data() makes.
  type, public :: ductile_datum
    type(c_ptr) :: at = c_null_ptr
    integer(c_size_t) :: bytes = 0          ! of all
    integer(c_size_t) :: element_bytes = 0  ! of all with one index of the last dimension
  end type

  interface ductile_data
    module procedure data_int32, data_int64, data_real32, data_real64, data_complex32, data_complex64, &
        data_logical, data_anything
  end interface

  ! What ductile_add_packed() wants, see ductile_pack and ductile_unpack in <ductile/app.h>.
  abstract interface
    function ductile_pack(user, to, size, data, bytes) bind(C)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: user
      integer(c_int), value :: to, size
      type(c_ptr), intent(out) :: data
      integer(c_size_t), intent(out) :: bytes
      integer(c_int) :: ductile_pack
    end function
    function ductile_unpack(user, from, size, data, bytes) bind(C)
      import :: c_int, c_ptr, c_size_t
      type(c_ptr), value :: user
      integer(c_int), value :: from, size
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int) :: ductile_unpack
    end function
  end interface

  public :: ductile_init, ductile_comm, ductile_generation, ductile_sizes, ductile_stdin, ductile_data, &
      ductile_add_replicated, ductile_add_block, ductile_add_cyclic, ductile_add_packed, ductile_moved, &
      ductile_block, ductile_cyclic_count, ductile_join, ductile_probe, ductile_adapt, ductile_must_leave, &
      ductile_postpone, ductile_refuse, ductile_request, ductile_offer, ductile_finalize, ductile_pack, &
      ductile_unpack

  ! Where a distributed array lies: the library reads it when a resize comes.
  type :: place
    character(:), allocatable :: name
    type(c_ptr) :: at = c_null_ptr
    type(place), pointer :: next => null()
  end type
  type(place), pointer, save :: places => null()

  ! Those that need no more than a name.
  interface
    function ductile_comm() bind(C, name = "ductile_comm_fortran")
      import :: c_int
      integer(c_int) :: ductile_comm
    end function
    function ductile_generation() bind(C, name = "ductile_generation")
      import :: c_int
      integer(c_int) :: ductile_generation
    end function
    function ductile_stdin(what) bind(C, name = "ductile_stdin")
      import :: c_int
      integer(c_int), value :: what
      integer(c_int) :: ductile_stdin
    end function
    function ductile_join() bind(C, name = "ductile_join")
      import :: c_int
      integer(c_int) :: ductile_join
    end function
    function ductile_probe() bind(C, name = "ductile_probe")
      import :: c_int
      integer(c_int) :: ductile_probe
    end function
    function ductile_adapt() bind(C, name = "ductile_adapt")
      import :: c_int
      integer(c_int) :: ductile_adapt
    end function
    function ductile_postpone(probes) bind(C, name = "ductile_postpone")
      import :: c_int
      integer(c_int), value :: probes
      integer(c_int) :: ductile_postpone
    end function
    function ductile_request(at_least, preferred) bind(C, name = "ductile_request")
      import :: c_int
      integer(c_int), value :: at_least, preferred
      integer(c_int) :: ductile_request
    end function
    function ductile_offer() bind(C, name = "ductile_offer")
      import :: c_int
      integer(c_int) :: ductile_offer
    end function
    function ductile_cyclic_count(elements, block, rank, size) bind(C, name = "ductile_cyclic_count")
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: elements, block
      integer(c_int), value :: rank, size
      integer(c_int64_t) :: ductile_cyclic_count
    end function

    function c_init(version) bind(C, name = "ductile_init_binding")
      import :: c_int
      integer(c_int), value :: version
      integer(c_int) :: c_init
    end function
    function c_sizes(minimum, maximum, constraint) bind(C, name = "ductile_sizes")
      import :: c_char, c_int
      integer(c_int), value :: minimum, maximum
      character(kind = c_char), intent(in) :: constraint(*)
      integer(c_int) :: c_sizes
    end function
    function c_add_replicated(name, data, bytes) bind(C, name = "ductile_add_replicated")
      import :: c_char, c_int, c_ptr, c_size_t
      character(kind = c_char), intent(in) :: name(*)
      type(c_ptr), value :: data
      integer(c_size_t), value :: bytes
      integer(c_int) :: c_add_replicated
    end function
    function c_add_block(name, data, element_bytes, elements, halo) bind(C, name = "ductile_add_block")
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
      character(kind = c_char), intent(in) :: name(*)
      type(c_ptr), value :: data
      integer(c_size_t), value :: element_bytes
      integer(c_int64_t), value :: elements, halo
      integer(c_int) :: c_add_block
    end function
    function c_add_cyclic(name, data, element_bytes, elements, block) bind(C, name = "ductile_add_cyclic")
      import :: c_char, c_int, c_int64_t, c_ptr, c_size_t
      character(kind = c_char), intent(in) :: name(*)
      type(c_ptr), value :: data
      integer(c_size_t), value :: element_bytes
      integer(c_int64_t), value :: elements, block
      integer(c_int) :: c_add_cyclic
    end function
    function c_add_packed(name, pack, unpack, user) bind(C, name = "ductile_add_packed")
      import :: c_char, c_funptr, c_int, c_ptr
      character(kind = c_char), intent(in) :: name(*)
      type(c_funptr), value :: pack, unpack
      type(c_ptr), value :: user
      integer(c_int) :: c_add_packed
    end function
    subroutine c_block(elements, rank, size, begin, end) bind(C, name = "ductile_block")
      import :: c_int, c_int64_t
      integer(c_int64_t), value :: elements
      integer(c_int), value :: rank, size
      integer(c_int64_t), intent(out) :: begin, end
    end subroutine
    function c_refuse(reason) bind(C, name = "ductile_refuse")
      import :: c_char, c_int
      character(kind = c_char), intent(in) :: reason(*)
      integer(c_int) :: c_refuse
    end function
    function c_finalize() bind(C, name = "ductile_finalize")
      import :: c_int
      integer(c_int) :: c_finalize
    end function
  end interface

contains

  ! Initialises MPI, unless the program has. DUCTILE_FRESH or DUCTILE_JOINING.
  integer function ductile_init()
    ductile_init = c_init(version)
  end function

  ! maximum = 0: any; constraint: "pof2", "even", "odd", "cubic", "multiple:4", "list:1:2:6".
  integer function ductile_sizes(minimum, maximum, constraint)
    integer, intent(in) :: minimum, maximum
    character(*), intent(in), optional :: constraint
    if (present(constraint)) then
      ductile_sizes = c_sizes(minimum, maximum, trim(constraint) // c_null_char)
    else
      ductile_sizes = c_sizes(minimum, maximum, "any" // c_null_char)
    end if
  end function

  ! ---- Data that goes over: the same in every generation, in the same order ----

  ! The same on every process.
  integer function ductile_add_replicated(name, data)
    character(*), intent(in) :: name
    type(ductile_datum), intent(in) :: data
    ductile_add_replicated = c_add_replicated(trim(name) // c_null_char, data%at, data%bytes)
  end function

  ! Of `elements` in all this process has those that ductile_block() says, with `halo` more before and behind.
  integer function ductile_add_block(name, data, elements, halo)
    character(*), intent(in) :: name
    type(ductile_datum), intent(in) :: data
    integer(int64), intent(in) :: elements
    integer, intent(in), optional :: halo
    integer(int64) :: ghosts
    ghosts = 0
    if (present(halo)) ghosts = halo
    ductile_add_block = c_add_block(trim(name) // c_null_char, place_of(name, data), data%element_bytes, elements, &
        ghosts)
  end function

  ! Dealt out in blocks of `block` elements (1).
  integer function ductile_add_cyclic(name, data, elements, block)
    character(*), intent(in) :: name
    type(ductile_datum), intent(in) :: data
    integer(int64), intent(in) :: elements
    integer, intent(in), optional :: block
    integer(int64) :: at_once
    at_once = 1
    if (present(block)) at_once = block
    ductile_add_cyclic = c_add_cyclic(trim(name) // c_null_char, place_of(name, data), data%element_bytes, elements, &
        at_once)
  end function

  ! Only the program can distribute it. `user` is what both are given.
  integer function ductile_add_packed(name, pack, unpack, user)
    character(*), intent(in) :: name
    procedure(ductile_pack) :: pack
    procedure(ductile_unpack) :: unpack
    type(c_ptr), intent(in), optional :: user
    type(c_ptr) :: given
    given = c_null_ptr
    if (present(user)) given = user
    ductile_add_packed = c_add_packed(trim(name) // c_null_char, c_funloc(pack), c_funloc(unpack), given)
  end function

  ! The distributed array of this name lies here from now on, of the same shape: after move_alloc(), or where
  ! pointers were swapped. DUCTILE_ERROR if there is none.
  integer function ductile_moved(name, data)
    character(*), intent(in) :: name
    type(ductile_datum), intent(in) :: data
    type(place), pointer :: its
    ductile_moved = DUCTILE_ERROR
    its => places
    do while (associated(its))
      if (its%name == trim(name)) then
        its%at = data%at
        ductile_moved = 0
        return
      end if
      its => its%next
    end do
  end function

  ! The numbers, from 1 on, of the first and the last element of this process; last < first if it has none.
  subroutine ductile_block(elements, rank, size, first, last)
    integer(int64), intent(in) :: elements
    integer, intent(in) :: rank, size
    integer(int64), intent(out) :: first, last
    integer(c_int64_t) :: begin, end
    call c_block(elements, rank, size, begin, end)
    first = begin + 1
    last = end
  end subroutine

  ! ---- Resizing ----

  ! The scheduling point, and what most programs do there. True when a new generation has taken over: call
  ! ductile_finalize() and end.
  logical function ductile_must_leave()
    ductile_must_leave = .false.
    if (ductile_probe() == DUCTILE_ADAPT_NOW) ductile_must_leave = ductile_adapt() == DUCTILE_LEAVE
  end function

  integer function ductile_refuse(reason)
    character(*), intent(in) :: reason
    ductile_refuse = c_refuse(trim(reason) // c_null_char)
  end function

  ! The end of MPI in this process, as MPI_Finalize is. What Fortran has still to write is written before.
  integer function ductile_finalize()
    use, intrinsic :: iso_fortran_env, only: error_unit, output_unit
    flush (output_unit)
    flush (error_unit)
    ductile_finalize = c_finalize()
  end function

  ! ---- Within ----

  function place_of(name, data) result(at)
    character(*), intent(in) :: name
    type(ductile_datum), intent(in) :: data
    type(c_ptr) :: at
    type(place), pointer :: its
    allocate (its)
    its%name = trim(name)
    its%at = data%at
    its%next => places
    places => its
    at = c_loc(its%at)
  end function

  ! An element has all that the dimensions before the last one have.
  pure type(ductile_datum) function datum_of(at, value_bytes, extents)
    type(c_ptr), intent(in) :: at
    integer, intent(in) :: value_bytes
    integer(c_size_t), intent(in) :: extents(:)
    datum_of%at = at
    datum_of%bytes = value_bytes * product(extents)
    datum_of%element_bytes = value_bytes * product(extents(:size(extents) - 1))
  end function

  type(ductile_datum) function data_int32(data)
    integer(int32), target, contiguous, intent(in) :: data(..)
    data_int32 = datum_of(c_loc(data), storage_size(data) / 8, shape(data, c_size_t))
  end function
  type(ductile_datum) function data_int64(data)
    integer(int64), target, contiguous, intent(in) :: data(..)
    data_int64 = datum_of(c_loc(data), storage_size(data) / 8, shape(data, c_size_t))
  end function
  type(ductile_datum) function data_real32(data)
    real(real32), target, contiguous, intent(in) :: data(..)
    data_real32 = datum_of(c_loc(data), storage_size(data) / 8, shape(data, c_size_t))
  end function
  type(ductile_datum) function data_real64(data)
    real(real64), target, contiguous, intent(in) :: data(..)
    data_real64 = datum_of(c_loc(data), storage_size(data) / 8, shape(data, c_size_t))
  end function
  type(ductile_datum) function data_complex32(data)
    complex(real32), target, contiguous, intent(in) :: data(..)
    data_complex32 = datum_of(c_loc(data), storage_size(data) / 8, shape(data, c_size_t))
  end function
  type(ductile_datum) function data_complex64(data)
    complex(real64), target, contiguous, intent(in) :: data(..)
    data_complex64 = datum_of(c_loc(data), storage_size(data) / 8, shape(data, c_size_t))
  end function
  type(ductile_datum) function data_logical(data)
    logical, target, contiguous, intent(in) :: data(..)
    data_logical = datum_of(c_loc(data), storage_size(data) / 8, shape(data, c_size_t))
  end function

  ! Anything else, a derived type for example: c_loc() of it, the bytes of one element, and how many there are.
  type(ductile_datum) function data_anything(at, element_bytes, elements)
    type(c_ptr), intent(in) :: at
    integer(c_size_t), intent(in) :: element_bytes
    integer(int64), intent(in), optional :: elements
    data_anything = ductile_datum(at, element_bytes, element_bytes)
    if (present(elements)) data_anything%bytes = element_bytes * elements
  end function

end module
