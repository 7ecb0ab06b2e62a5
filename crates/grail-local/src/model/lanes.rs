//! Sixteen rows at once: the few vector operations that the arithmetic of a model needs, on what the processor has.
//!
//! Integer sums are exact and the order of floating-point operations is the same everywhere, so that the kinds of processors differ only
//! in whether a product is rounded before it is added.

use pulp::NullaryFnOnce;

/// How many rows are computed together.
pub(super) const WIDTH: usize = 16;

/// Work that is compiled for each kind of processor.
pub(super) trait Work {
    type Output;
    fn run<L: Lanes>(self, lanes: L) -> Self::Output;
}

/// Vectors of sixteen lanes.
pub(super) trait Lanes: Copy + Send + Sync {
    /// Four bytes per lane.
    type Bytes: Copy;
    /// Two 16-bit sums per lane.
    type Words: Copy;
    type Integers: Copy;
    type Floats: Copy;

    fn bytes(self, values: &[u8; 64]) -> Self::Bytes;
    fn low_nibbles(self, values: Self::Bytes) -> Self::Bytes;
    fn high_nibbles(self, values: Self::Bytes) -> Self::Bytes;
    /// The same four signed bytes in every lane.
    fn quad(self, values: i32) -> Self::Bytes;
    fn no_words(self) -> Self::Words;
    /// Adds the products of unsigned and signed bytes, two by two.
    fn accumulate(self, sums: Self::Words, unsigned: Self::Bytes, signed: Self::Bytes) -> Self::Words;
    /// The sum of the words of each lane.
    fn widen(self, sums: Self::Words) -> Self::Integers;
    /// `16 * high + low - offset`
    fn join(self, high: Self::Integers, low: Self::Integers, offset: i32) -> Self::Integers;
    fn floats(self, values: Self::Integers) -> Self::Floats;
    /// 16-bit floats, which must be finite.
    fn halves(self, values: &[u16; WIDTH]) -> Self::Floats;
    fn load(self, values: &[f32; WIDTH]) -> Self::Floats;
    fn store(self, values: Self::Floats) -> [f32; WIDTH];
    fn splat(self, value: f32) -> Self::Floats;
    fn multiply(self, left: Self::Floats, right: Self::Floats) -> Self::Floats;
    /// `left * right + sum`
    fn multiply_add(self, left: Self::Floats, right: Self::Floats, sum: Self::Floats) -> Self::Floats;
}

/// What the processor has, found out once.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Processor {
    #[cfg(target_arch = "x86_64")]
    Avx512(pulp::x86::V4),
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
    Any,
}

impl Processor {
    pub(crate) fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(simd) = pulp::x86::V4::try_new() {
                return Self::Avx512(simd);
            }
            if let Some(simd) = pulp::x86::V3::try_new() {
                return Self::Avx2(simd);
            }
        }
        Self::Any
    }

    /// Every kind that this processor can stand in for.
    #[cfg(test)]
    pub(crate) fn all() -> Vec<Self> {
        let mut all = vec![Self::Any];
        #[cfg(target_arch = "x86_64")]
        {
            all.extend(pulp::x86::V3::try_new().map(Self::Avx2));
            all.extend(pulp::x86::V4::try_new().map(Self::Avx512));
        }
        all
    }

    #[inline]
    pub(super) fn run<W: Work>(self, work: W) -> W::Output {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(simd) => simd.vectorize(Compiled { lanes: simd, work }),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(simd) => simd.vectorize(Compiled { lanes: simd, work }),
            Self::Any => work.run(Plain),
        }
    }
}

struct Compiled<L, W> {
    lanes: L,
    work: W,
}

impl<L: Lanes, W: Work> NullaryFnOnce for Compiled<L, W> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.work.run(self.lanes)
    }
}

/// The bits of 2 to the power of 112: by so much the exponents of the two kinds of floats are apart.
const HALF_TO_FLOAT: u32 = 0x7780_0000;

/// A 16-bit float by arithmetic on its bits: right for all but infinities and what is not a number.
#[inline(always)]
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let rest = f32::from_bits(u32::from(bits & 0x7fff) << 13) * f32::from_bits(HALF_TO_FLOAT);
    f32::from_bits(rest.to_bits() | sign)
}

/// Arrays, for the compiler to make the best of.
#[derive(Clone, Copy)]
pub(super) struct Plain;

impl Lanes for Plain {
    type Bytes = [u8; 64];
    type Words = [i16; 32];
    type Integers = [i32; WIDTH];
    type Floats = [f32; WIDTH];

    #[inline(always)]
    fn bytes(self, values: &[u8; 64]) -> Self::Bytes {
        *values
    }
    #[inline(always)]
    fn low_nibbles(self, values: Self::Bytes) -> Self::Bytes {
        values.map(|byte| byte & 15)
    }
    #[inline(always)]
    fn high_nibbles(self, values: Self::Bytes) -> Self::Bytes {
        values.map(|byte| byte >> 4)
    }
    #[inline(always)]
    fn quad(self, values: i32) -> Self::Bytes {
        let quad = values.to_le_bytes();
        std::array::from_fn(|index| quad[index % 4])
    }
    #[inline(always)]
    fn no_words(self) -> Self::Words {
        [0; 32]
    }
    #[inline(always)]
    fn accumulate(self, sums: Self::Words, unsigned: Self::Bytes, signed: Self::Bytes) -> Self::Words {
        std::array::from_fn(|index| {
            let product = |at: usize| i16::from(unsigned[at]) * i16::from(i8::from_le_bytes([signed[at]]));
            sums[index] + product(2 * index) + product(2 * index + 1)
        })
    }
    #[inline(always)]
    fn widen(self, sums: Self::Words) -> Self::Integers {
        std::array::from_fn(|lane| i32::from(sums[2 * lane]) + i32::from(sums[2 * lane + 1]))
    }
    #[inline(always)]
    fn join(self, high: Self::Integers, low: Self::Integers, offset: i32) -> Self::Integers {
        std::array::from_fn(|lane| high[lane] * 16 + low[lane] - offset)
    }
    #[inline(always)]
    fn floats(self, values: Self::Integers) -> Self::Floats {
        values.map(|value| value as f32)
    }
    #[inline(always)]
    fn halves(self, values: &[u16; WIDTH]) -> Self::Floats {
        values.map(half)
    }
    #[inline(always)]
    fn load(self, values: &[f32; WIDTH]) -> Self::Floats {
        *values
    }
    #[inline(always)]
    fn store(self, values: Self::Floats) -> [f32; WIDTH] {
        values
    }
    #[inline(always)]
    fn splat(self, value: f32) -> Self::Floats {
        [value; WIDTH]
    }
    #[inline(always)]
    fn multiply(self, left: Self::Floats, right: Self::Floats) -> Self::Floats {
        std::array::from_fn(|lane| left[lane] * right[lane])
    }
    #[inline(always)]
    fn multiply_add(self, left: Self::Floats, right: Self::Floats, sum: Self::Floats) -> Self::Floats {
        // Without the instruction, `mul_add` is a slow function call.
        if cfg!(target_arch = "aarch64") {
            return std::array::from_fn(|lane| left[lane].mul_add(right[lane], sum[lane]));
        }
        std::array::from_fn(|lane| left[lane] * right[lane] + sum[lane])
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m128i, __m256, __m256i, __m512, __m512i};

    use pulp::cast;
    use pulp::x86::{V3, V4};

    use super::{HALF_TO_FLOAT, Lanes, WIDTH};

    impl Lanes for V4 {
        type Bytes = __m512i;
        type Words = __m512i;
        type Integers = __m512i;
        type Floats = __m512;

        #[inline(always)]
        fn bytes(self, values: &[u8; 64]) -> __m512i {
            cast(*values)
        }
        #[inline(always)]
        fn low_nibbles(self, values: __m512i) -> __m512i {
            self.avx512f._mm512_and_si512(values, self.avx512f._mm512_set1_epi32(0x0f0f_0f0f))
        }
        #[inline(always)]
        fn high_nibbles(self, values: __m512i) -> __m512i {
            self.low_nibbles(self.avx512bw._mm512_srli_epi16::<4>(values))
        }
        #[inline(always)]
        fn quad(self, values: i32) -> __m512i {
            self.avx512f._mm512_set1_epi32(values)
        }
        #[inline(always)]
        fn no_words(self) -> __m512i {
            self.avx512f._mm512_set1_epi32(0)
        }
        #[inline(always)]
        fn accumulate(self, sums: __m512i, unsigned: __m512i, signed: __m512i) -> __m512i {
            self.avx512bw._mm512_add_epi16(sums, self.avx512bw._mm512_maddubs_epi16(unsigned, signed))
        }
        #[inline(always)]
        fn widen(self, sums: __m512i) -> __m512i {
            self.avx512bw._mm512_madd_epi16(sums, self.avx512f._mm512_set1_epi32(0x0001_0001))
        }
        #[inline(always)]
        fn join(self, high: __m512i, low: __m512i, offset: i32) -> __m512i {
            let high = self.avx512f._mm512_slli_epi32::<4>(high);
            let sum = self.avx512f._mm512_add_epi32(high, low);
            self.avx512f._mm512_sub_epi32(sum, self.avx512f._mm512_set1_epi32(offset))
        }
        #[inline(always)]
        fn floats(self, values: __m512i) -> __m512 {
            self.avx512f._mm512_cvtepi32_ps(values)
        }
        #[inline(always)]
        fn halves(self, values: &[u16; WIDTH]) -> __m512 {
            self.avx512f._mm512_cvtph_ps(cast(*values))
        }
        #[inline(always)]
        fn load(self, values: &[f32; WIDTH]) -> __m512 {
            cast(*values)
        }
        #[inline(always)]
        fn store(self, values: __m512) -> [f32; WIDTH] {
            cast(values)
        }
        #[inline(always)]
        fn splat(self, value: f32) -> __m512 {
            self.avx512f._mm512_set1_ps(value)
        }
        #[inline(always)]
        fn multiply(self, left: __m512, right: __m512) -> __m512 {
            self.avx512f._mm512_mul_ps(left, right)
        }
        #[inline(always)]
        fn multiply_add(self, left: __m512, right: __m512, sum: __m512) -> __m512 {
            self.avx512f._mm512_fmadd_ps(left, right, sum)
        }
    }

    /// What `half` does, for eight: as a function of one number it does not become part of the loop, and took a tenth of the time.
    #[inline(always)]
    fn eight_halves(simd: V3, bits: __m128i) -> __m256 {
        let bits = simd.avx2._mm256_cvtepu16_epi32(bits);
        let sign = simd.avx2._mm256_and_si256(bits, simd.avx._mm256_set1_epi32(0x8000));
        let rest = simd.avx2._mm256_and_si256(bits, simd.avx._mm256_set1_epi32(0x7fff));
        let rest: __m256 = cast(simd.avx2._mm256_slli_epi32::<13>(rest));
        let rest = simd.avx._mm256_mul_ps(rest, simd.avx._mm256_set1_ps(f32::from_bits(HALF_TO_FLOAT)));
        simd.avx._mm256_or_ps(rest, cast(simd.avx2._mm256_slli_epi32::<16>(sign)))
    }

    /// Two vectors of half the width.
    impl Lanes for V3 {
        type Bytes = [__m256i; 2];
        type Words = [__m256i; 2];
        type Integers = [__m256i; 2];
        type Floats = [__m256; 2];

        #[inline(always)]
        fn bytes(self, values: &[u8; 64]) -> [__m256i; 2] {
            cast(*values)
        }
        #[inline(always)]
        fn low_nibbles(self, values: [__m256i; 2]) -> [__m256i; 2] {
            let mask = self.avx._mm256_set1_epi32(0x0f0f_0f0f);
            values.map(|value| self.avx2._mm256_and_si256(value, mask))
        }
        #[inline(always)]
        fn high_nibbles(self, values: [__m256i; 2]) -> [__m256i; 2] {
            self.low_nibbles(values.map(|value| self.avx2._mm256_srli_epi16::<4>(value)))
        }
        #[inline(always)]
        fn quad(self, values: i32) -> [__m256i; 2] {
            [self.avx._mm256_set1_epi32(values); 2]
        }
        #[inline(always)]
        fn no_words(self) -> [__m256i; 2] {
            [self.avx._mm256_set1_epi32(0); 2]
        }
        #[inline(always)]
        fn accumulate(
            self,
            sums: [__m256i; 2],
            unsigned: [__m256i; 2],
            signed: [__m256i; 2],
        ) -> [__m256i; 2] {
            let add = |at: usize| {
                let products = self.avx2._mm256_maddubs_epi16(unsigned[at], signed[at]);
                self.avx2._mm256_add_epi16(sums[at], products)
            };
            [add(0), add(1)]
        }
        #[inline(always)]
        fn widen(self, sums: [__m256i; 2]) -> [__m256i; 2] {
            let ones = self.avx._mm256_set1_epi32(0x0001_0001);
            sums.map(|sum| self.avx2._mm256_madd_epi16(sum, ones))
        }
        #[inline(always)]
        fn join(self, high: [__m256i; 2], low: [__m256i; 2], offset: i32) -> [__m256i; 2] {
            let offset = self.avx._mm256_set1_epi32(offset);
            let join = |at: usize| {
                let high = self.avx2._mm256_slli_epi32::<4>(high[at]);
                self.avx2._mm256_sub_epi32(self.avx2._mm256_add_epi32(high, low[at]), offset)
            };
            [join(0), join(1)]
        }
        #[inline(always)]
        fn floats(self, values: [__m256i; 2]) -> [__m256; 2] {
            values.map(|value| self.avx._mm256_cvtepi32_ps(value))
        }
        #[inline(always)]
        fn halves(self, values: &[u16; WIDTH]) -> [__m256; 2] {
            let [first, second]: [__m128i; 2] = cast(*values);
            [eight_halves(self, first), eight_halves(self, second)]
        }
        #[inline(always)]
        fn load(self, values: &[f32; WIDTH]) -> [__m256; 2] {
            cast(*values)
        }
        #[inline(always)]
        fn store(self, values: [__m256; 2]) -> [f32; WIDTH] {
            cast(values)
        }
        #[inline(always)]
        fn splat(self, value: f32) -> [__m256; 2] {
            [self.avx._mm256_set1_ps(value); 2]
        }
        #[inline(always)]
        fn multiply(self, left: [__m256; 2], right: [__m256; 2]) -> [__m256; 2] {
            [self.avx._mm256_mul_ps(left[0], right[0]), self.avx._mm256_mul_ps(left[1], right[1])]
        }
        #[inline(always)]
        fn multiply_add(self, left: [__m256; 2], right: [__m256; 2], sum: [__m256; 2]) -> [__m256; 2] {
            let add = |at: usize| self.fma._mm256_fmadd_ps(left[at], right[at], sum[at]);
            [add(0), add(1)]
        }
    }
}
