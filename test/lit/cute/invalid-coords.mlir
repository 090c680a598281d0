// Every message about views of coordinates. Functions are named after the constraint that they break.
// RUN: aitmlir-opt -split-input-file -verify-diagnostics %s

// expected-error@+1 {{needs a layout whose strides step in the coordinates (0,0), as 1@0 and 1@1 do, got (8,8):(8,1)}}
func.func private @coord_view_plain(!cute.coord_view<"(0,0)", "(8,8):(8,1)">)
// -----
// expected-error@+1 {{needs a layout whose strides step in the coordinates (0,0), as 1@0 and 1@1 do, got (8,8):(1@0,1@2)}}
func.func private @coord_view_rank(!cute.coord_view<"(0,0)", "(8,8):(1@0,1@2)">)
// -----
// expected-error@+1 {{a coord_view is written coord_view<"(0,0)", "(64,32):(1@0,1@1)">}}
func.func private @coord_view_text(!cute.coord_view<"(8,8):(1@0,1@1)">)
// -----
func.func @identity_leaf(%s: !cute.shape<"8">) {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{'cute.make_identity_view' op needs a shape of several modes, as (8,1), got 8}}
  %0 = cute.make_identity_view(%s) : !cute.shape<"8"> -> !cute.coord_view<"(0,0)", "(8,1):(1@0,0)">
  return
}
// -----
!v = !cute.coord_view<"(0,0)", "(8,8):(1@0,1@1)">
func.func @get_coord_open(%v: !v, %c: !cute.coord<"(_,1)">) {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{'cute.get_coord' op the coordinate (_,1) leaves a mode open; slice the view instead}}
  %0 = cute.get_coord(%v, %c) : (!v, !cute.coord<"(_,1)">) -> !cute.int_tuple<"(0,1)">
  return
}
// -----
!v = !cute.coord_view<"(0,0)", "((8,1),4):((1@1,0),8@0)">
func.func @get_coord_rank(%v: !v, %c: !cute.coord<"(0,0,?)">) {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{coordinate (0,0,?) does not fit the shape ((8,1),4)}}
  %0 = cute.get_coord(%v, %c) : (!v, !cute.coord<"(0,0,?)">) -> !cute.int_tuple<"(?,?)">
  return
}
// -----
!atom = !cute.copy_atom<"universal.128", f16>
!s = !cute.view<f16, smem, align<16>, "(8,4):(1,8)">
!g = !cute.view<f16, gmem, align<16>, "(8,4):(1,8)">
func.func @store_within_c2(%a: !atom, %s: !s, %g: !g, %c: !cute.coord_view<"(0,0)", "(8,4):(1@1,1@0)">, %n: !cute.shape<"(?,?)">) {
  // expected-error@+1 {{'cute.store_within' op C2: the destination is in gmem, got smem}}
  cute.store_within(%a, %g, %s, %c, %n) : (!atom, !g, !s, !cute.coord_view<"(0,0)", "(8,4):(1@1,1@0)">, !cute.shape<"(?,?)">) -> ()
  return
}
// -----
!atom = !cute.copy_atom<"universal.128", f16>
!s = !cute.view<f16, smem, align<16>, "(8,4):(1,8)">
!g = !cute.view<f16, gmem, align<16>, "(8,4):(1,8)">
func.func @store_within_c3(%a: !atom, %s: !s, %g: !g, %c: !cute.coord_view<"(0,0)", "(8,2,2):(1@1,1@0,2@0)">, %n: !cute.shape<"(?,?)">) {
  // expected-error@+1 {{'cute.store_within' op C3: the coordinates are (8,2,2):(1@1,1@0,2@0) and the destination is (8,4):(1,8): tile, partition and slice the identity view with the operations that made the destination of its tensor}}
  cute.store_within(%a, %s, %g, %c, %n) : (!atom, !s, !g, !cute.coord_view<"(0,0)", "(8,2,2):(1@1,1@0,2@0)">, !cute.shape<"(?,?)">) -> ()
  return
}
// -----
!atom = !cute.copy_atom<"universal.128", f16>
!s = !cute.view<f16, smem, align<16>, "(8,4):(1,8)">
!g = !cute.view<f16, gmem, align<16>, "(8,4):(1,8)">
func.func @store_within_c3_shape(%a: !atom, %s: !s, %g: !g, %c: !cute.coord_view<"(0,0)", "(8,4):(1@1,1@0)">, %n: !cute.shape<"(?,?,?)">) {
  // expected-error@+1 {{'cute.store_within' op C3: the shape has a size for each coordinate, got (?,?,?) for coordinates (0,0)}}
  cute.store_within(%a, %s, %g, %c, %n) : (!atom, !s, !g, !cute.coord_view<"(0,0)", "(8,4):(1@1,1@0)">, !cute.shape<"(?,?,?)">) -> ()
  return
}
// -----
!atom = !cute.copy_atom<"universal.128", f16>
!s = !cute.view<f16, smem, align<16>, "(8,4):(1,8)">
!g = !cute.view<f16, gmem, align<16>, "(8,4):(1,8)">
func.func @store_within_c4_size(%a: !atom, %s: !s, %g: !g, %c: !cute.coord_view<"(0,0)", "(8,4):(1@1,1@0)">, %n: !cute.shape<"(?,?{div=4})">) {
  // expected-error@+1 {{'cute.store_within' op C4: an instruction copies 8 elements along coordinate 1, and the size ?{div=4} there is not known to be a multiple of 8: state {div=8} where it enters, or copy fewer elements at a time}}
  cute.store_within(%a, %s, %g, %c, %n) : (!atom, !s, !g, !cute.coord_view<"(0,0)", "(8,4):(1@1,1@0)">, !cute.shape<"(?,?{div=4})">) -> ()
  return
}
// -----
!atom = !cute.copy_atom<"universal.128", f16>
!s = !cute.view<f16, smem, align<16>, "(8,4):(1,8)">
!g = !cute.view<f16, gmem, align<16>, "(8,4):(1,8)">
func.func @store_within_c4_start(%a: !atom, %s: !s, %g: !g, %c: !cute.coord_view<"(0,?{div=2})", "(8,4):(1@1,1@0)">, %n: !cute.shape<"(?,?{div=8})">) {
  // expected-error@+1 {{'cute.store_within' op C4: an instruction copies 8 elements along coordinate 1, and it starts at ?{div=2}, which is not known to be a multiple of 8}}
  cute.store_within(%a, %s, %g, %c, %n) : (!atom, !s, !g, !cute.coord_view<"(0,?{div=2})", "(8,4):(1@1,1@0)">, !cute.shape<"(?,?{div=8})">) -> ()
  return
}
// -----
!atom = !cute.copy_atom<"universal.128", f16>
!s = !cute.view<f16, smem, align<16>, "(8,4):(1,8)">
!g = !cute.view<f16, gmem, align<16>, "(8,4):(1,8)">
func.func @store_within_c4_two(%a: !atom, %s: !s, %g: !g, %c: !cute.coord_view<"(0,0)", "((4,2),4):((1@1,1@0),2@0)">, %n: !cute.shape<"(?,?{div=8})">) {
  // expected-error@+1 {{'cute.store_within' op C4: the 8 elements of an instruction follow one coordinate, these go from (0,0) to (1,3); copy one element at a time}}
  cute.store_within(%a, %s, %g, %c, %n) : (!atom, !s, !g, !cute.coord_view<"(0,0)", "((4,2),4):((1@1,1@0),2@0)">, !cute.shape<"(?,?{div=8})">) -> ()
  return
}
