#!/bin/sh
read n
echo 1 $((n - 1))
