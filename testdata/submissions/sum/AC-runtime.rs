// Proves that Rust's threads and channels work.
use std::io::{self, Read};
use std::sync::mpsc;
use std::thread;

fn main() {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text).unwrap();
    let numbers: Vec<i64> = text.split_whitespace().skip(1).map(|x| x.parse().unwrap()).collect();
    let (send, receive) = mpsc::channel();
    thread::scope(|s| {
        for share in numbers.chunks(numbers.len() / 4 + 1) {
            let send = send.clone();
            s.spawn(move || send.send(share.iter().sum::<i64>()).unwrap());
        }
    });
    drop(send);
    println!("{}", receive.iter().sum::<i64>());
}
