// What `cute.load_within` refuses. Functions are named after the constraint that they break.
// RUN: aitmlir-opt -split-input-file -verify-diagnostics %s

!pairs = !cute.copy_atom<"cp.async.ca.4", f16>
!gmem = !cute.view<f16, gmem, align<16>, "(2,4):(1,64)">
!short = !cute.view<f16, smem, align<16>, "(2,2):(1,2)">
!at = !cute.coord_view<"(0,0)", "(2,4):(1@1,1@0)">
!shape = !cute.shape<"(?,?)">
func.func @load_within_c1(%a: !pairs, %s: !gmem, %d: !short, %c: !at, %e: !shape) {
  // expected-error@+1 {{'cute.load_within' op C2: mode 1 has 4 elements in the source and 2 in the destination}}
  cute.load_within(%a, %s, %d, %c, %e) : (!pairs, !gmem, !short, !at, !shape) -> ()
  return
}
// -----
!one = !cute.copy_atom<"universal.16", f16>
!smem = !cute.view<f16, smem, align<16>, "(2,4):(1,2)">
!at = !cute.coord_view<"(0,0)", "(2,4):(1@1,1@0)">
!shape = !cute.shape<"(?,?)">
func.func @load_within_c2_space(%a: !one, %s: !smem, %d: !smem, %c: !at, %e: !shape) {
  // expected-error@+1 {{'cute.load_within' op C2: the source is in gmem, got smem}}
  cute.load_within(%a, %s, %d, %c, %e) : (!one, !smem, !smem, !at, !shape) -> ()
  return
}
// -----
!zeros = !cute.copy_atom<"cp.async.ca.4.zfill", f16>
!gmem = !cute.view<f16, gmem, align<16>, "(2,4):(1,64)">
!smem = !cute.view<f16, smem, align<16>, "(2,4):(1,2)">
!at = !cute.coord_view<"(0,0)", "(2,4):(1@1,1@0)">
!shape = !cute.shape<"(?,?)">
func.func @load_within_c2_atom(%a: !zeros, %s: !gmem, %d: !smem, %c: !at, %e: !shape) {
  // expected-error@+1 {{'cute.load_within' op C2: loads by universal or cp.async without .zfill, not by cp.async.ca.4.zfill}}
  cute.load_within(%a, %s, %d, %c, %e) : (!zeros, !gmem, !smem, !at, !shape) -> ()
  return
}
// -----
!pairs = !cute.copy_atom<"cp.async.ca.4", f16>
!gmem = !cute.view<f16, gmem, align<16>, "(2,4):(1,64)">
!smem = !cute.view<f16, smem, align<16>, "(2,4):(1,2)">
!plain = !cute.layout<"(2,4):(1,64)">
!shape = !cute.shape<"(?,?)">
func.func @load_within_c3_kind(%a: !pairs, %s: !gmem, %d: !smem, %c: !plain, %e: !shape) {
  // expected-error@+1 {{'cute.load_within' op C3: the coordinates are a coord_view; cute.make_identity_view gives one}}
  cute.load_within(%a, %s, %d, %c, %e) : (!pairs, !gmem, !smem, !plain, !shape) -> ()
  return
}
// -----
!pairs = !cute.copy_atom<"cp.async.ca.4", f16>
!gmem = !cute.view<f16, gmem, align<16>, "(2,4):(1,64)">
!smem = !cute.view<f16, smem, align<16>, "(2,4):(1,2)">
!less = !cute.coord_view<"(0,0)", "(2,3):(1@1,1@0)">
!shape = !cute.shape<"(?,?)">
func.func @load_within_c3_sizes(%a: !pairs, %s: !gmem, %d: !smem, %c: !less, %e: !shape) {
  // expected-error@+1 {{'cute.load_within' op C3: the coordinates are (2,3):(1@1,1@0) and the source is (2,4):(1,64): tile, partition and slice the identity view with the operations that made the source of its tensor}}
  cute.load_within(%a, %s, %d, %c, %e) : (!pairs, !gmem, !smem, !less, !shape) -> ()
  return
}
// -----
!pairs = !cute.copy_atom<"cp.async.ca.4", f16>
!gmem = !cute.view<f16, gmem, align<16>, "(2,4):(1,64)">
!smem = !cute.view<f16, smem, align<16>, "(2,4):(1,2)">
!at = !cute.coord_view<"(0,0)", "(2,4):(1@1,1@0)">
!three = !cute.shape<"(?,?,?)">
func.func @load_within_c3_shape(%a: !pairs, %s: !gmem, %d: !smem, %c: !at, %e: !three) {
  // expected-error@+1 {{'cute.load_within' op C3: the shape has a size for each coordinate, got (?,?,?) for coordinates (0,0)}}
  cute.load_within(%a, %s, %d, %c, %e) : (!pairs, !gmem, !smem, !at, !three) -> ()
  return
}
// -----
!pairs = !cute.copy_atom<"cp.async.ca.4", f16>
!gmem = !cute.view<f16, gmem, align<16>, "(2,4):(1,64)">
!smem = !cute.view<f16, smem, align<16>, "(2,4):(1,2)">
!every = !cute.coord_view<"(0,0)", "(2,4):(2@1,1@0)">
!shape = !cute.shape<"(?,?)">
func.func @load_within_c4(%a: !pairs, %s: !gmem, %d: !smem, %c: !every, %e: !shape) {
  // expected-error@+1 {{'cute.load_within' op C4: the 2 elements of an instruction follow each other along one coordinate, those of (2,4):(2@1,1@0) do not}}
  cute.load_within(%a, %s, %d, %c, %e) : (!pairs, !gmem, !smem, !every, !shape) -> ()
  return
}
// -----
!two = !cute.copy_atom<"universal.32", f16>
!gmem = !cute.view<f16, gmem, align<16>, "(2,4):(1,64)">
!smem = !cute.view<f16, smem, align<16>, "(2,4):(1,2)">
!at = !cute.coord_view<"(0,0)", "(2,4):(1@1,1@0)">
!shape = !cute.shape<"(?,?)">
func.func @load_within_c5(%a: !two, %s: !gmem, %d: !smem, %c: !at, %e: !shape) {
  // expected-error@+1 {{'cute.load_within' op C5: universal.32 moves 2 elements of f16, some of which may be outside; cp.async can leave out a part of them, or move one at a time}}
  cute.load_within(%a, %s, %d, %c, %e) : (!two, !gmem, !smem, !at, !shape) -> ()
  return
}
