// Proves that the heap of a Rust program is memory of the run: a reservation that the kernel grants is killed when it is used.
use std::io::{self, Read};

fn main() {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).unwrap();
    let sum: i64 = text.split_whitespace().skip(1).map(|x| x.parse::<i64>().unwrap()).sum();
    let blocks: Vec<Vec<u8>> = (0..512).map(|_| vec![1u8; 1 << 20]).collect();
    println!("{}", sum + blocks.iter().map(|b| b[4096] as i64).sum::<i64>() - 512);
}
