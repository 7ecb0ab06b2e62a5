//! Matrices of 32-bit floats, row after row. Products are candle's; everything between products reads and writes plain slices here, over
//! the rows in parallel, with the vector instructions of the machine.
//!
//! A matrix has no history: gradients are written by hand in `network`, so nothing is computed for weights that never change.

use std::ops::Deref;

use candle_core::{CpuStorage, Device, InplaceOp1, Layout, Result, Storage, StorageRef, Tensor};
use rayon::prelude::*;

/// Rows that one task works on: enough to be worth a task, few enough to share out.
const ROWS_PER_TASK: usize = 16;

#[derive(Clone, Debug)]
pub(super) struct Matrix {
    tensor: Tensor,
    rows: usize,
    columns: usize,
}

impl Matrix {
    pub(super) fn new(values: Vec<f32>, rows: usize, columns: usize) -> Result<Matrix> {
        Matrix::of(Tensor::from_vec(values, (rows, columns), &Device::Cpu)?)
    }

    /// A matrix of a tensor of two dimensions; views stay views.
    pub(super) fn of(tensor: Tensor) -> Result<Matrix> {
        let (rows, columns) = tensor.dims2()?;
        Ok(Matrix { tensor, rows, columns })
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    pub(super) fn transposed(&self) -> Result<Matrix> {
        Matrix::of(self.tensor.t()?)
    }

    /// A view of some rows and columns. Only products take views.
    pub(super) fn part(
        &self,
        first_row: usize,
        rows: usize,
        first_column: usize,
        columns: usize,
    ) -> Result<Matrix> {
        Matrix::of(self.tensor.narrow(0, first_row, rows)?.narrow(1, first_column, columns)?)
    }

    pub(super) fn columns_from(&self, first: usize, columns: usize) -> Result<Matrix> {
        self.part(0, self.rows, first, columns)
    }

    pub(super) fn times(&self, other: &Matrix) -> Result<Matrix> {
        Matrix::of(self.tensor.matmul(&other.tensor)?)
    }

    /// The values, row after row. The matrix must not be a view.
    pub(super) fn values(&self) -> Result<Values<'_>> {
        let (storage, layout) = self.tensor.storage_and_layout();
        let Some((first, end)) = layout.contiguous_offsets() else {
            candle_core::bail!("a view of {} by {} has no values in a row", self.rows, self.columns);
        };
        if !matches!(&*storage, Storage::Cpu(CpuStorage::F32(_))) {
            candle_core::bail!("a matrix holds 32-bit floats on the CPU");
        }
        Ok(Values { storage, first, end })
    }

    /// Changes rows in place, in parallel. The matrix must be a whole one that nobody else reads meanwhile.
    pub(super) fn change_rows(&self, change: impl Fn(usize, &mut [f32]) + Sync) -> Result<()> {
        self.tensor.inplace_op1(&ChangeRows { columns: self.columns, change })
    }

    /// Rows made from their number, in parallel.
    pub(super) fn from_rows(
        rows: usize,
        columns: usize,
        write: impl Fn(usize, &mut [f32]) + Sync,
    ) -> Result<Matrix> {
        let mut values = vec![0.0; rows * columns];
        write_rows(&mut values, columns, &write);
        Matrix::new(values, rows, columns)
    }
}

pub(super) struct Values<'a> {
    storage: StorageRef<'a>,
    first: usize,
    end: usize,
}

impl Deref for Values<'_> {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        match &*self.storage {
            Storage::Cpu(CpuStorage::F32(values)) => &values[self.first..self.end],
            _ => &[],
        }
    }
}

struct ChangeRows<F> {
    columns: usize,
    change: F,
}

impl<F: Fn(usize, &mut [f32]) + Sync> InplaceOp1 for ChangeRows<F> {
    fn name(&self) -> &'static str {
        "change-rows"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let Some((first, end)) = layout.contiguous_offsets() else {
            candle_core::bail!("a view cannot be changed in place");
        };
        let CpuStorage::F32(values) = storage else {
            candle_core::bail!("a matrix holds 32-bit floats");
        };
        write_rows(&mut values[first..end], self.columns, &self.change);
        Ok(())
    }
}

fn write_rows(values: &mut [f32], columns: usize, write: &(impl Fn(usize, &mut [f32]) + Sync)) {
    if columns == 0 {
        return;
    }
    values.par_chunks_mut(columns * ROWS_PER_TASK).enumerate().for_each(|(task, rows)| {
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                for (row, values) in rows.chunks_exact_mut(columns).enumerate() {
                    write(task * ROWS_PER_TASK + row, values);
                }
            },
        );
    });
}
